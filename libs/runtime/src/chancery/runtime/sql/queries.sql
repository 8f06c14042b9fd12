-- name: use_schema
-- Look names up in one service's schema until the transaction ends.
SELECT set_config('search_path', $1::text, true);

-- name: park
-- Keep a message that no retry can help, once; what was retried before comes back, and a stream
-- that was made again may hold another message at the same place.
INSERT INTO parked AS p
    (tenant, stream, sequence, consumer, subject, message_id, reason, attempts, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (stream, sequence, consumer) DO UPDATE
SET tenant = excluded.tenant, subject = excluded.subject, message_id = excluded.message_id,
    reason = excluded.reason, payload = excluded.payload, parked_at = clock_timestamp(),
    attempts = excluded.attempts + CASE WHEN p.payload = excluded.payload THEN p.attempts ELSE 0 END,
    resolved_at = NULL, resolution = NULL, note = NULL
WHERE p.resolution = 'retried' OR p.payload <> excluded.payload;

-- name: find_parked
-- One page of parked messages, behind a place.
SELECT tenant, stream, sequence, consumer, subject, message_id, reason, attempts, payload,
       parked_at, resolved_at, resolution, note
FROM parked
WHERE ($1::text IS NULL OR consumer = $1)
  AND ($2::bigint IS NULL OR sequence = $2)
  AND ($3::text IS NULL OR reason = $3)
  AND ($4::boolean OR resolved_at IS NULL)
  AND (consumer COLLATE "C", sequence) > ($5::text, $6::bigint)
ORDER BY consumer COLLATE "C", sequence LIMIT $7;

-- name: count_parked
-- How many parked messages wait for somebody.
SELECT count(*) FROM parked WHERE resolved_at IS NULL;

-- name: park_again
-- Keep a message that failed once more, with the new reason and count.
UPDATE parked SET reason = $3, attempts = attempts + $4, parked_at = clock_timestamp()
WHERE consumer = $1 AND sequence = $2 AND resolved_at IS NULL
RETURNING attempts;

-- name: resolve_parked
-- Say how a parked message ended.
UPDATE parked SET resolved_at = clock_timestamp(), resolution = $3, note = $4,
    attempts = attempts + $5
WHERE consumer = $1 AND sequence = $2 AND resolved_at IS NULL
RETURNING attempts;
