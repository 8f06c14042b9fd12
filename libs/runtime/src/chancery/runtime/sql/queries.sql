-- name: use_schema
-- Look names up in one service's schema until the transaction ends.
SELECT set_config('search_path', $1::text, true);

-- name: park
-- Keep a message that no retry can help; the same position is kept once.
INSERT INTO parked
    (tenant, stream, sequence, consumer, subject, message_id, reason, attempts, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING;
