-- Reading states for a decision: one statement, so that one snapshot holds checkpoint and rows.

-- name: read_states
-- The checkpoint, the database's clock, and the state of each named aggregate (absent: null).
SELECT c.sequence AS checkpoint, clock_timestamp() AS now, r.kind, r.id,
       a.sequence, a.frozen, a.state::text AS state
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
LEFT JOIN unnest($2::text[], $3::text[]) AS r (kind, id) ON true
LEFT JOIN release.aggregate AS a
  ON a.tenant = $1 AND a.table_set = l.table_set AND a.kind = r.kind AND a.id = r.id
WHERE l.projection = 'authority';

-- name: read_states_at_cuts
-- As read_states for several read sets at once; then one row for the digest of each cut ($4, $5)
-- that the projection has.
WITH live AS (
    SELECT l.table_set, c.sequence AS checkpoint
    FROM release.live_set AS l
    JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
    WHERE l.projection = 'authority'
)
SELECT l.checkpoint, clock_timestamp() AS now, NULL::bytea AS digest, r.tenant, r.kind, r.id,
       a.sequence, a.published, a.frozen, a.event_type, a.event_id, a.payload_sha256,
       a.state::text AS state
FROM live AS l
JOIN unnest($1::text[], $2::text[], $3::text[]) AS r (tenant, kind, id) ON true
LEFT JOIN release.aggregate AS a
  ON a.tenant = r.tenant AND a.table_set = l.table_set AND a.kind = r.kind AND a.id = r.id
UNION ALL
SELECT l.checkpoint, clock_timestamp(), k.digest, k.tenant, NULL, NULL,
       k.sequence, NULL, NULL, NULL, NULL, NULL, NULL
FROM live AS l
JOIN unnest($4::text[], $5::bigint[]) AS r (tenant, sequence) ON true
JOIN release.cut AS k
  ON k.tenant = r.tenant AND k.table_set = l.table_set AND k.sequence = r.sequence;

-- name: read_workspace
-- Everything of a workspace ($3: of these kinds) with the index entry that serves.
SELECT a.kind, a.id, a.sequence, a.frozen, a.state::text AS state, i.entry::text AS entry
FROM release.live_set AS l
JOIN release.aggregate AS a
  ON a.tenant = $1 AND a.table_set = l.table_set AND a.workspace_id = $2
 AND a.kind = ANY ($3::text[])
JOIN release.live_set AS x ON x.projection = 'index'
LEFT JOIN release.index_state AS i
  ON i.tenant = $1 AND i.table_set = x.table_set AND i.kind = a.kind AND i.key = a.id
 AND i.revision = a.serving
WHERE l.projection = 'authority'
ORDER BY a.kind, a.id;

-- name: read_resources
-- The named things of a workspace (of a file: its owner) with the index entry that serves.
SELECT a.kind, a.id, a.sequence, a.frozen, a.state::text AS state, i.entry::text AS entry
FROM release.live_set AS l
JOIN unnest($3::text[], $4::text[]) AS r (kind, id) ON true
JOIN release.aggregate AS a
  ON a.tenant = $1 AND a.table_set = l.table_set AND a.kind = r.kind AND a.id = r.id
 AND a.workspace_id = $2
JOIN release.live_set AS x ON x.projection = 'index'
LEFT JOIN release.index_state AS i
  ON i.tenant = $1 AND i.table_set = x.table_set AND i.kind = a.kind AND i.key = a.id
 AND i.revision = a.serving
WHERE l.projection = 'authority'
ORDER BY a.kind, a.id;

-- name: read_index_entry
-- The index entry of one exact revision.
SELECT i.entry::text AS entry
FROM release.live_set AS l
JOIN release.index_state AS i
  ON i.tenant = $1 AND i.table_set = l.table_set AND i.kind = $2 AND i.key = $3
 AND i.revision = $4
WHERE l.projection = 'index';

-- name: find_credential
-- The principal of a tenant that holds a credential of this id.
SELECT a.id
FROM release.live_set AS l
JOIN release.aggregate AS a
  ON a.tenant = $1 AND a.table_set = l.table_set AND a.kind = 'principal'
WHERE l.projection = 'authority' AND a.state -> 'credentials' ? $2
LIMIT 1;

-- name: read_later_publications
-- Sources, datasets and items of a workspace that were published again after a position, newest
-- first.
SELECT a.kind, a.id, a.frozen, a.state::text AS state
FROM release.live_set AS l
JOIN release.aggregate AS a
  ON a.tenant = $1 AND a.table_set = l.table_set AND a.workspace_id = $2
 AND a.kind IN ('source', 'dataset', 'item') AND a.published > $3
WHERE l.projection = 'authority'
ORDER BY a.published DESC, a.kind, a.id
LIMIT 1000;
