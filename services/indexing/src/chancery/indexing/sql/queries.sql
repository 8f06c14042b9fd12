-- Statements of the indexing service.

-- name: ensure_resources
-- Make the rows that are locked next, in the order in which they are locked.
INSERT INTO indexing.resource (tenant, kind, key)
SELECT tenant, kind, key
FROM unnest($1::text[], $2::text[], $3::text[]) AS asked (tenant, kind, key)
ORDER BY tenant, kind, key
ON CONFLICT DO NOTHING;

-- name: lock_resources
-- One holder at a time; the locks end with the transaction.
SELECT tenant, kind, key, authority_sequence, changed_sequence, index_sequence, state
FROM indexing.resource
JOIN unnest($1::text[], $2::text[], $3::text[]) AS asked (tenant, kind, key)
    USING (tenant, kind, key)
ORDER BY tenant, kind, key
FOR UPDATE OF resource;

-- name: read_open_revisions
-- Of each resource the newest revision, and each that is not excluded yet or has no outcome.
WITH asked AS (
    SELECT tenant, kind, key
    FROM unnest($1::text[], $2::text[], $3::text[]) AS given (tenant, kind, key)
)
SELECT tenant, kind, key, revision, content_sha256, media_type, size_bytes, published_sequence,
    extractor, failure, attempt, extraction_sha256, extracted_manifest_sha256, length,
    standing, standing_reason, standing_attempt, standing_manifest_sha256
FROM asked JOIN indexing.revision USING (tenant, kind, key)
WHERE standing IS DISTINCT FROM 'excluded' OR extractor IS NULL
UNION
SELECT newest.tenant, newest.kind, newest.key, newest.revision, newest.content_sha256,
    newest.media_type, newest.size_bytes, newest.published_sequence, newest.extractor,
    newest.failure, newest.attempt, newest.extraction_sha256, newest.extracted_manifest_sha256,
    newest.length, newest.standing, newest.standing_reason, newest.standing_attempt,
    newest.standing_manifest_sha256
FROM asked CROSS JOIN LATERAL (
    SELECT tenant, kind, key, revision, content_sha256, media_type, size_bytes,
        published_sequence, extractor, failure, attempt, extraction_sha256,
        extracted_manifest_sha256, length, standing, standing_reason, standing_attempt,
        standing_manifest_sha256
    FROM indexing.revision AS known
    WHERE known.tenant = asked.tenant AND known.kind = asked.kind AND known.key = asked.key
    ORDER BY known.revision DESC
    LIMIT 1
) AS newest;

-- name: save_resource
-- Store how far both logs were followed.
UPDATE indexing.resource
SET authority_sequence = $4, changed_sequence = $5, index_sequence = $6, state = $7
WHERE tenant = $1 AND kind = $2 AND key = $3;

-- name: save_revision
-- Store a revision with its outcome, when that was a failure of which attempt, and what was said.
INSERT INTO indexing.revision AS known (
    tenant, kind, key, revision, content_sha256, media_type, size_bytes, published_sequence,
    extractor, failure, attempt, extraction_sha256, extracted_manifest_sha256, length,
    standing, standing_reason, standing_attempt, standing_manifest_sha256, failed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
    CASE WHEN $11::integer IS NOT NULL THEN clock_timestamp() END)
ON CONFLICT (tenant, kind, key, revision) DO UPDATE SET
    extractor = excluded.extractor,
    failure = excluded.failure,
    attempt = excluded.attempt,
    failed_at = CASE
        WHEN (known.extractor, known.attempt) IS NOT DISTINCT FROM
            (excluded.extractor, excluded.attempt) THEN known.failed_at
        ELSE excluded.failed_at
    END,
    extraction_sha256 = excluded.extraction_sha256,
    extracted_manifest_sha256 = excluded.extracted_manifest_sha256,
    length = excluded.length,
    standing = excluded.standing,
    standing_reason = excluded.standing_reason,
    standing_attempt = excluded.standing_attempt,
    standing_manifest_sha256 = excluded.standing_manifest_sha256;
