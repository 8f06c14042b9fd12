-- Statements about what is to be indexed again.

-- name: record_wish
-- Record a wish when there was none like it for a minute; a repeat of the request changes nothing.
-- Whoever is at work at an earlier one keeps it until that is done.
INSERT INTO indexing.wish AS w (tenant, kind, key, revision, request_id)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, kind, key, revision) DO UPDATE
SET request_id = excluded.request_id, asked_at = clock_timestamp(), done_at = NULL,
    taken_until = CASE WHEN w.done_at IS NULL THEN w.taken_until END
WHERE w.request_id <> excluded.request_id
  AND w.asked_at <= clock_timestamp() - make_interval(secs => $6)
RETURNING true;

-- name: read_wish
-- The last request, and in how many seconds the next one may come.
SELECT request_id,
    greatest(0, $5 - extract(epoch FROM clock_timestamp() - asked_at))::double precision AS wait_s
FROM indexing.wish
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4;

-- name: take_wish
-- Take the oldest open one of the tenant that was not served for longest; others skip it.
UPDATE indexing.wish AS w
SET taken_until = clock_timestamp() + make_interval(secs => $1), taken_by = $3
FROM (
    SELECT tenant, kind, key, revision
    FROM indexing.wish
    WHERE done_at IS NULL AND (taken_until IS NULL OR taken_until < clock_timestamp())
    ORDER BY coalesce(array_position($2::text[], tenant), 0), asked_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) AS oldest
WHERE (w.tenant, w.kind, w.key, w.revision)
    = (oldest.tenant, oldest.kind, oldest.key, oldest.revision)
RETURNING w.tenant, w.kind, w.key, w.revision, w.request_id;

-- name: renew_wish
-- Keep a wish for a while longer, unless another one has taken it.
UPDATE indexing.wish SET taken_until = clock_timestamp() + make_interval(secs => $6)
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5
RETURNING true;

-- name: end_wish
-- Say that a wish was carried out; one that has taken its place meanwhile is open to anybody.
UPDATE indexing.wish
SET done_at = CASE WHEN request_id = $6 THEN clock_timestamp() END,
    taken_until = NULL, taken_by = NULL
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5;

-- name: give_wish_back
-- Let anybody take a wish that could not be carried out now.
UPDATE indexing.wish SET taken_until = NULL, taken_by = NULL
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND taken_by = $5;
