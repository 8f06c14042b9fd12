-- What the projections keep in quarantine, as an operator sees it and tries it again.

-- name: find_quarantined
-- Authority events of the live set that wait, behind a place.
SELECT q.tenant, q.sequence, q.subject, q.reason, q.payload
FROM release.live_set AS l
JOIN release.quarantine AS q ON q.table_set = l.table_set
WHERE l.projection = 'authority' AND ($1::bigint IS NULL OR q.sequence = $1)
  AND ($2::text IS NULL OR q.reason = $2) AND q.sequence > $3
ORDER BY q.sequence LIMIT $4;

-- name: find_quarantined_index
-- Index events of the live set that wait, behind a place.
SELECT q.tenant, q.sequence, q.subject, q.reason, q.payload
FROM release.live_set AS l
JOIN release.quarantine_index AS q ON q.table_set = l.table_set
WHERE l.projection = 'index' AND ($1::bigint IS NULL OR q.sequence = $1)
  AND ($2::text IS NULL OR q.reason = $2) AND q.sequence > $3
ORDER BY q.sequence LIMIT $4;

-- name: count_authority_quarantine
-- How many authority events of the live set wait.
SELECT count(*) FROM release.live_set AS l
JOIN release.quarantine AS q ON q.table_set = l.table_set WHERE l.projection = 'authority';

-- name: count_index_quarantine
-- How many index events of the live set wait.
SELECT count(*) FROM release.live_set AS l
JOIN release.quarantine_index AS q ON q.table_set = l.table_set WHERE l.projection = 'index';

-- name: ask_redrive
-- Ask the writer of a projection to try its quarantine again; the number names the wish.
UPDATE release.checkpoint AS c SET redrives = c.redrives + 1
FROM release.live_set AS l
WHERE l.projection = $1 AND c.projection = l.projection AND c.table_set = l.table_set
RETURNING c.redrives;

-- name: read_redrives
-- How many wishes the live set of a projection has, and how many its writer has dealt with.
SELECT c.redrives, c.redriven
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
WHERE l.projection = $1;

-- name: mark_redriven
-- Say that the quarantine was tried after so many wishes.
UPDATE release.checkpoint SET redriven = $3
WHERE projection = $1 AND table_set = $2 AND redriven < $3;

-- name: read_index_quarantine
-- What waits in the index quarantine of a table set, by subject.
SELECT q.tenant, q.sequence, q.subject, q.payload FROM release.quarantine_index AS q
WHERE q.table_set = $1
ORDER BY q.subject, q.sequence LIMIT $2;

-- name: refold_index
-- Store the entries of one resource as its whole history gives them, and forget what no longer
-- waits, unless the checkpoint has moved.
WITH held AS (
    SELECT c.table_set FROM release.checkpoint AS c
    WHERE c.projection = 'index' AND c.table_set = $1 AND c.sequence = $2 AND c.digest = $3
    FOR UPDATE
), forgotten AS (
    DELETE FROM release.quarantine_index AS q USING held AS h
    WHERE q.table_set = h.table_set AND q.subject = $4 AND q.sequence <> ALL ($5::bigint[])
), stored AS (
    INSERT INTO release.index_state
        (tenant, table_set, kind, key, revision, workspace_id, state, sequence,
         authority_sequence, entry)
    SELECT u.tenant, h.table_set, u.kind, u.key, u.revision, u.workspace_id, u.state, u.sequence,
           u.authority_sequence, u.entry::jsonb
    FROM held AS h, unnest($6::text[], $7::text[], $8::text[], $9::integer[], $10::text[],
        $11::text[], $12::bigint[], $13::bigint[], $14::text[])
        AS u (tenant, kind, key, revision, workspace_id, state, sequence, authority_sequence, entry)
    ON CONFLICT (tenant, table_set, kind, key, revision) DO UPDATE
    SET workspace_id = excluded.workspace_id, state = excluded.state,
        sequence = excluded.sequence, authority_sequence = excluded.authority_sequence,
        entry = excluded.entry
)
SELECT count(*) = 1 FROM held;
