-- Statements of the two projections: the authority of the log, and the state of the index.

-- name: try_lock_projection
-- Become the one writer of a projection, or learn that another process is.
SELECT pg_catalog.pg_try_advisory_lock(hashtextextended('chancery.release.projection.' || $1::text, 0));

-- name: relax_commit
-- A projection is rebuilt from the log, so that its commits need not wait for the disk.
SET synchronous_commit TO off;

-- name: ensure_checkpoint
-- Start at the beginning of a stream when this projection has never run.
INSERT INTO release.checkpoint (projection, table_set, stream_created, digest)
SELECT l.projection, l.table_set, $2, $3 FROM release.live_set AS l WHERE l.projection = $1
ON CONFLICT (projection, table_set) DO NOTHING;

-- name: read_checkpoint
-- How far a projection has come, of which stream, and with which digest.
SELECT c.table_set, c.stream_created, c.sequence, c.digest, c.anchor_sequence, c.anchor_sha256
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
WHERE l.projection = $1;

-- name: read_positions
-- How far both projections have come.
SELECT c.projection, c.sequence
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set;

-- name: read_rows
-- The aggregates that a batch of events changes, as they are before it.
SELECT a.tenant, a.kind, a.id, a.sequence, a.published, a.frozen, a.event_type, a.event_id,
       a.payload_sha256, a.state
FROM unnest($2::text[], $3::text[], $4::text[]) AS r (tenant, kind, id)
JOIN LATERAL (
    SELECT g.tenant, g.kind, g.id, g.sequence, g.published, g.frozen, g.event_type, g.event_id,
           g.payload_sha256, g.state
    FROM release.aggregate AS g
    WHERE g.tenant = r.tenant AND g.table_set = $1 AND g.kind = r.kind AND g.id = r.id
    OFFSET 0
) AS a ON true;

-- name: apply_authority
-- Store a folded batch with its checkpoint; nothing happens when the checkpoint has moved.
WITH moved AS (
    UPDATE release.checkpoint
    SET sequence = $4, digest = $5, anchor_sequence = $6, anchor_sha256 = $7,
        moved_at = clock_timestamp()
    WHERE projection = 'authority' AND table_set = $1 AND sequence = $2 AND digest = $3
    RETURNING table_set
), folded AS (
    INSERT INTO release.aggregate
        (tenant, table_set, kind, id, workspace_id, serving, published, sequence, frozen,
         event_type, event_id, payload_sha256, state)
    SELECT u.tenant, m.table_set, u.kind, u.id, u.workspace_id, u.serving, u.published,
           u.sequence, u.frozen, u.event_type, u.event_id, u.payload_sha256, u.state::jsonb
    FROM moved AS m, unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::integer[],
        $13::bigint[], $14::bigint[], $15::boolean[], $16::text[], $17::text[], $18::text[],
        $19::text[])
        AS u (tenant, kind, id, workspace_id, serving, published, sequence, frozen, event_type,
              event_id, payload_sha256, state)
    ON CONFLICT (tenant, table_set, kind, id) DO UPDATE
    SET workspace_id = excluded.workspace_id, serving = excluded.serving,
        published = excluded.published, sequence = excluded.sequence, frozen = excluded.frozen,
        event_type = excluded.event_type, event_id = excluded.event_id,
        payload_sha256 = excluded.payload_sha256, state = excluded.state
), quarantined AS (
    INSERT INTO release.quarantine (tenant, table_set, sequence, subject, reason, payload)
    SELECT u.tenant, m.table_set, u.sequence, u.subject, u.reason, u.payload
    FROM moved AS m, unnest($20::text[], $21::bigint[], $22::text[], $23::text[], $24::bytea[])
        AS u (tenant, sequence, subject, reason, payload)
), cuts AS (
    INSERT INTO release.cut
        (tenant, table_set, sequence, run_id, generation, attempt, digest)
    SELECT u.tenant, m.table_set, u.sequence, u.run_id, u.generation, u.attempt, u.digest
    FROM moved AS m, unnest($25::text[], $26::bigint[], $27::text[], $28::integer[],
        $29::integer[], $30::bytea[])
        AS u (tenant, sequence, run_id, generation, attempt, digest)
)
SELECT count(*) = 1 FROM moved;

-- name: read_frozen
-- The frozen aggregates of a table set.
SELECT a.tenant, a.kind, a.id, a.sequence, a.published, a.frozen, a.event_type, a.event_id,
       a.payload_sha256, a.state
FROM release.aggregate AS a
WHERE a.table_set = $1 AND a.frozen
ORDER BY a.tenant, a.kind, a.id LIMIT $2;

-- name: read_queue
-- What waits for one aggregate, in the order of the log.
SELECT q.sequence, q.subject, q.payload
FROM release.quarantine AS q
WHERE q.tenant = $1 AND q.table_set = $2 AND q.subject = $3
ORDER BY q.sequence;

-- name: thaw
-- Store a drained aggregate and forget its queue, unless the checkpoint has moved.
WITH held AS (
    SELECT c.table_set FROM release.checkpoint AS c
    WHERE c.projection = 'authority' AND c.table_set = $1 AND c.sequence = $2 AND c.digest = $3
    FOR UPDATE
), emptied AS (
    DELETE FROM release.quarantine AS q USING held AS h
    WHERE q.tenant = $4 AND q.table_set = h.table_set AND q.subject = $7
)
UPDATE release.aggregate AS a
SET workspace_id = $8, serving = $9, published = $10, sequence = $11, frozen = false,
    event_type = $12, event_id = $13, payload_sha256 = $14, state = $15::text::jsonb
FROM held AS h
WHERE a.tenant = $4 AND a.table_set = h.table_set AND a.kind = $5 AND a.id = $6;

-- name: read_entries
-- The index entries that a batch of events changes, as they are before it.
SELECT i.tenant, i.kind, i.key, i.revision, i.entry
FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[]) AS r (tenant, kind, key, revision)
JOIN LATERAL (
    SELECT s.tenant, s.kind, s.key, s.revision, s.entry
    FROM release.index_state AS s
    WHERE s.tenant = r.tenant AND s.table_set = $1 AND s.kind = r.kind AND s.key = r.key
      AND s.revision = r.revision
    OFFSET 0
) AS i ON true;

-- name: apply_index
-- Store a folded batch of index events with its checkpoint, unless the checkpoint has moved.
WITH moved AS (
    UPDATE release.checkpoint
    SET sequence = $4, digest = $5, anchor_sequence = $6, anchor_sha256 = $7,
        moved_at = clock_timestamp()
    WHERE projection = 'index' AND table_set = $1 AND sequence = $2 AND digest = $3
    RETURNING table_set
), folded AS (
    INSERT INTO release.index_state
        (tenant, table_set, kind, key, revision, workspace_id, state, sequence,
         authority_sequence, entry)
    SELECT u.tenant, m.table_set, u.kind, u.key, u.revision, u.workspace_id, u.state, u.sequence,
           u.authority_sequence, u.entry::jsonb
    FROM moved AS m, unnest($8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
        $13::text[], $14::bigint[], $15::bigint[], $16::text[])
        AS u (tenant, kind, key, revision, workspace_id, state, sequence, authority_sequence, entry)
    ON CONFLICT (tenant, table_set, kind, key, revision) DO UPDATE
    SET workspace_id = excluded.workspace_id, state = excluded.state,
        sequence = excluded.sequence, authority_sequence = excluded.authority_sequence,
        entry = excluded.entry
), quarantined AS (
    INSERT INTO release.quarantine_index (tenant, table_set, sequence, subject, reason, payload)
    SELECT u.tenant, m.table_set, u.sequence, u.subject, u.reason, u.payload
    FROM moved AS m, unnest($17::text[], $18::bigint[], $19::text[], $20::text[], $21::bytea[])
        AS u (tenant, sequence, subject, reason, payload)
)
SELECT count(*) = 1 FROM moved;
