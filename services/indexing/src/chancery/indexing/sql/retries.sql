-- Statements about snapshots that failed for a reason that passes.

-- name: read_due_attempts
-- Those whose time has come, and what a build failed that counted no attempts; $2 are the waits.
SELECT tenant, kind, key, revision
FROM indexing.revision
WHERE kind = 'dataset' AND failure IS NOT NULL AND failure = ANY ($1::text[])
  AND (standing = 'failed' AND attempt IS NULL
    OR standing = 'pending'
    AND failed_at <= clock_timestamp() - make_interval(secs => ($2::double precision[])[attempt]))
ORDER BY failed_at NULLS FIRST
LIMIT $3;
