-- Reading states for a decision: one statement, so that one snapshot holds checkpoint and rows.
-- OFFSET 0 has each row looked up by its whole key: the planner, which knows nothing of a table
-- that has just been filled, would else join by the tenant and compare all rows with all.

-- name: read_states
-- The checkpoint, the database's clock, and the state of each named aggregate (absent: null).
SELECT c.sequence AS checkpoint, clock_timestamp() AS now, r.kind, r.id,
       a.sequence, a.frozen, a.state::text AS state
FROM release.live_set AS l
JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
LEFT JOIN unnest($2::text[], $3::text[]) AS r (kind, id) ON true
LEFT JOIN LATERAL (
    SELECT g.sequence, g.frozen, g.state
    FROM release.aggregate AS g
    WHERE g.tenant = $1 AND g.table_set = l.table_set AND g.kind = r.kind AND g.id = r.id
    OFFSET 0
) AS a ON true
WHERE l.projection = 'authority';

-- name: read_states_at_cuts
-- As read_states for several read sets at once, whose columns come as text joined by commas; then
-- one row for the digest of each cut ($4, $5) that the projection has.
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
JOIN unnest(string_to_array($1::text, ','), string_to_array($2::text, ','),
        string_to_array($3::text, ','))
    AS r (tenant, kind, id) ON true
LEFT JOIN LATERAL (
    SELECT g.sequence, g.published, g.frozen, g.event_type, g.event_id, g.payload_sha256, g.state
    FROM release.aggregate AS g
    WHERE g.tenant = r.tenant AND g.table_set = l.table_set AND g.kind = r.kind AND g.id = r.id
    OFFSET 0
) AS a ON true
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
LEFT JOIN LATERAL (
    SELECT s.entry
    FROM release.index_state AS s
    WHERE s.tenant = $1 AND s.table_set = x.table_set AND s.kind = a.kind AND s.key = a.id
      AND s.revision = a.serving
    OFFSET 0
) AS i ON true
WHERE l.projection = 'authority'
ORDER BY a.kind, a.id;

-- name: read_resources
-- The named things of a workspace (of a file: its owner) with the index entry that serves.
SELECT a.kind, a.id, a.sequence, a.frozen, a.state::text AS state, i.entry::text AS entry
FROM release.live_set AS l
JOIN unnest($3::text[], $4::text[]) AS r (kind, id) ON true
JOIN LATERAL (
    SELECT g.kind, g.id, g.sequence, g.frozen, g.state, g.serving
    FROM release.aggregate AS g
    WHERE g.tenant = $1 AND g.table_set = l.table_set AND g.kind = r.kind AND g.id = r.id
      AND g.workspace_id = $2
    OFFSET 0
) AS a ON true
JOIN release.live_set AS x ON x.projection = 'index'
LEFT JOIN LATERAL (
    SELECT s.entry
    FROM release.index_state AS s
    WHERE s.tenant = $1 AND s.table_set = x.table_set AND s.kind = a.kind AND s.key = a.id
      AND s.revision = a.serving
    OFFSET 0
) AS i ON true
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

-- name: read_states_and_later
-- As read_states; then the sources, datasets and items of a workspace ($4) that were published
-- again after a position ($5), the newest 1000.
WITH live AS (
    SELECT l.table_set, c.sequence AS checkpoint
    FROM release.live_set AS l
    JOIN release.checkpoint AS c ON c.projection = l.projection AND c.table_set = l.table_set
    WHERE l.projection = 'authority'
)
SELECT l.checkpoint, clock_timestamp() AS now, r.kind, r.id, a.frozen, a.state::text AS state,
       false AS is_later
FROM live AS l
LEFT JOIN unnest($2::text[], $3::text[]) AS r (kind, id) ON true
LEFT JOIN LATERAL (
    SELECT g.frozen, g.state
    FROM release.aggregate AS g
    WHERE g.tenant = $1 AND g.table_set = l.table_set AND g.kind = r.kind AND g.id = r.id
    OFFSET 0
) AS a ON true
UNION ALL
SELECT l.checkpoint, clock_timestamp(), p.kind, p.id, p.frozen, p.state::text, true
FROM live AS l
CROSS JOIN LATERAL (
    SELECT a.kind, a.id, a.frozen, a.state
    FROM release.aggregate AS a
    WHERE a.tenant = $1 AND a.table_set = l.table_set AND a.workspace_id = $4
      AND a.kind IN ('source', 'dataset', 'item') AND a.published > $5
    ORDER BY a.published DESC, a.kind, a.id
    LIMIT 1000) AS p;
