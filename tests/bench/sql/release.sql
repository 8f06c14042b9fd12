-- name: create_bare
-- Make the table that the bare pair of a publish and a commit writes to.
CREATE TABLE bench.bare (id text PRIMARY KEY, body bytea NOT NULL);

-- name: grant_bare
-- Let release's runtime role take part in the bench.
GRANT USAGE ON SCHEMA bench TO chancery_release;

-- name: grant_insert
-- Let it write to the one table.
GRANT INSERT ON bench.bare TO chancery_release;

-- name: insert_bare
-- Commit one row of bytes.
INSERT INTO bench.bare (id, body) VALUES ($1, $2);

-- name: count_outcomes
-- How many runs were sealed and how many refused.
SELECT count(*) FILTER (WHERE kind = 'sealed') AS sealed,
       count(*) FILTER (WHERE kind = 'refused') AS refused
FROM release.release;

-- name: read_bytes_sealed
-- How many bytes of content, receipt and event one release has, on average.
SELECT (sum(octet_length(p.body)) + sum(c.bytes) + sum(octet_length(p.signature)))::bigint
       / count(*) AS bytes
FROM release.receipt AS p
JOIN LATERAL (
    SELECT sum(octet_length(t.ciphertext)) AS bytes FROM release.content AS t
    WHERE t.tenant = p.tenant AND t.release_id = p.release_id
) AS c ON true;

-- name: read_by_key
-- Read one release by its primary key.
SELECT tenant, release_id, run_id, generation, kind, decided_at, request, language
FROM release.release WHERE tenant = $1 AND release_id = $2;
