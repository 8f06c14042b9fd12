-- Statements about revisions that are extracted by themselves.

-- name: record_slow_extraction
-- Record a revision, unless it waits already.
INSERT INTO indexing.slow_extraction (tenant, kind, key, revision)
VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING;

-- name: take_slow_extraction
-- Take the oldest of the tenant that was not served for longest; others skip it.
UPDATE indexing.slow_extraction AS s
SET taken_until = clock_timestamp() + make_interval(secs => $1), taken_by = $3
FROM (
    SELECT tenant, kind, key, revision
    FROM indexing.slow_extraction
    WHERE taken_until IS NULL OR taken_until < clock_timestamp()
    ORDER BY coalesce(array_position($2::text[], tenant), 0), asked_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) AS oldest
WHERE (s.tenant, s.kind, s.key, s.revision)
    = (oldest.tenant, oldest.kind, oldest.key, oldest.revision)
RETURNING s.tenant, s.kind, s.key, s.revision;

-- name: renew_slow_extraction
-- Keep a revision for a while longer, unless another one has taken it.
UPDATE indexing.slow_extraction
SET taken_until = clock_timestamp() + make_interval(secs => $6)
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5
RETURNING true;

-- name: end_slow_extraction
-- Forget a revision that has an outcome.
DELETE FROM indexing.slow_extraction
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5;

-- name: give_slow_extraction_back
-- Let anybody take a revision that could not be extracted now.
UPDATE indexing.slow_extraction SET taken_until = NULL, taken_by = NULL
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5;
