-- Statements about what is to be indexed again.

-- name: record_wish
-- Record a wish when there was none like it for a minute; a repeat of the request changes nothing.
INSERT INTO indexing.wish AS w (tenant, kind, key, revision, request_id)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, kind, key, revision) DO UPDATE
SET request_id = excluded.request_id, asked_at = clock_timestamp(), taken_until = NULL,
    done_at = NULL
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
-- Take the oldest open wish for a while; others skip it.
UPDATE indexing.wish AS w
SET taken_until = clock_timestamp() + make_interval(secs => $1)
FROM (
    SELECT tenant, kind, key, revision
    FROM indexing.wish
    WHERE done_at IS NULL AND (taken_until IS NULL OR taken_until < clock_timestamp())
    ORDER BY asked_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) AS oldest
WHERE (w.tenant, w.kind, w.key, w.revision)
    = (oldest.tenant, oldest.kind, oldest.key, oldest.revision)
RETURNING w.tenant, w.kind, w.key, w.revision, w.request_id;

-- name: end_wish
-- Say that a wish was carried out, unless another one has taken its place.
UPDATE indexing.wish SET done_at = clock_timestamp()
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND request_id = $5;

-- name: give_wish_back
-- Let anybody take a wish that could not be carried out now.
UPDATE indexing.wish SET taken_until = NULL
WHERE tenant = $1 AND kind = $2 AND key = $3 AND revision = $4 AND request_id = $5
    AND done_at IS NULL;
