-- Table sets: a projection is rebuilt beside the live one, and one row makes it live.

-- name: try_lock_rebuild
-- Become the one process that rebuilds or switches a projection, or learn that another is.
SELECT pg_catalog.pg_try_advisory_lock(hashtextextended('chancery.release.rebuild.' || $1::text, 0));

-- name: read_table_sets
-- Every table set of both projections and how far it has come.
SELECT l.projection, l.table_set AS live_set, c.table_set, c.stream_created, c.sequence, c.digest,
       c.anchor_sequence, c.anchor_sha256
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection
ORDER BY l.projection, c.table_set;

-- name: count_quarantined
-- How many messages wait in the live set, and how many aggregates are frozen.
SELECT (SELECT count(*) FROM release.quarantine AS q WHERE q.table_set = l.table_set)
           AS quarantined,
       (SELECT count(*) FROM release.aggregate AS a WHERE a.table_set = l.table_set AND a.frozen)
           AS frozen
FROM release.live_set AS l WHERE l.projection = 'authority';

-- name: add_table_set
-- Start a table set at the beginning of its stream; one that was started goes on.
INSERT INTO release.checkpoint (projection, table_set, stream_created, digest)
VALUES ($1, $2, $3, $4)
ON CONFLICT (projection, table_set) DO NOTHING;

-- name: lock_live_checkpoint
-- Hold the live projection where it is until this transaction ends.
SELECT c.table_set, c.stream_created, c.sequence, c.digest, c.anchor_sequence, c.anchor_sha256
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
WHERE l.projection = $1
FOR UPDATE OF c;

-- name: make_live
-- Switch a projection: the new set stands where the old one stood, whose writer is stopped by it.
WITH stopped AS (
    DELETE FROM release.checkpoint WHERE projection = $1 AND table_set = $2
), aligned AS (
    UPDATE release.checkpoint SET sequence = $4 WHERE projection = $1 AND table_set = $3
)
UPDATE release.live_set SET table_set = $3 WHERE projection = $1 AND table_set = $2;

-- name: prune_aggregates
-- Remove some rows of a set that is not live.
DELETE FROM release.aggregate WHERE ctid IN (
    SELECT a.ctid FROM release.aggregate AS a
    WHERE a.table_set = $1
      AND NOT EXISTS (
          SELECT FROM release.live_set AS l
          WHERE l.projection = 'authority' AND l.table_set = $1)
    LIMIT $2);

-- name: prune_cuts
-- Remove some cuts of a set that is not live.
DELETE FROM release.cut WHERE ctid IN (
    SELECT c.ctid FROM release.cut AS c
    WHERE c.table_set = $1
      AND NOT EXISTS (
          SELECT FROM release.live_set AS l
          WHERE l.projection = 'authority' AND l.table_set = $1)
    LIMIT $2);

-- name: prune_quarantine
-- Remove some quarantined messages of a set that is not live; the live set has them too.
DELETE FROM release.quarantine WHERE ctid IN (
    SELECT q.ctid FROM release.quarantine AS q
    WHERE q.table_set = $1
      AND NOT EXISTS (
          SELECT FROM release.live_set AS l
          WHERE l.projection = 'authority' AND l.table_set = $1)
    LIMIT $2);

-- name: prune_index_states
-- Remove some index entries of a set that is not live.
DELETE FROM release.index_state WHERE ctid IN (
    SELECT i.ctid FROM release.index_state AS i
    WHERE i.table_set = $1
      AND NOT EXISTS (
          SELECT FROM release.live_set AS l
          WHERE l.projection = 'index' AND l.table_set = $1)
    LIMIT $2);

-- name: prune_quarantine_index
-- Remove some quarantined index messages of a set that is not live.
DELETE FROM release.quarantine_index WHERE ctid IN (
    SELECT q.ctid FROM release.quarantine_index AS q
    WHERE q.table_set = $1
      AND NOT EXISTS (
          SELECT FROM release.live_set AS l
          WHERE l.projection = 'index' AND l.table_set = $1)
    LIMIT $2);
