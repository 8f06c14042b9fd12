-- Statements of the indexing service.

-- name: ensure_resource
-- Make the row that is locked next.
INSERT INTO indexing.resource (tenant, kind, key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: lock_resource
-- One holder at a time; the lock ends with the transaction.
SELECT authority_sequence, changed_sequence, index_sequence, state
FROM indexing.resource
WHERE tenant = $1 AND kind = $2 AND key = $3
FOR UPDATE;

-- name: read_open_revisions
-- The newest revision, and each that is not excluded yet or has no outcome.
SELECT revision, content_sha256, media_type, size_bytes, published_sequence,
    extractor, failure, extraction_sha256, extracted_manifest_sha256, length,
    standing, standing_reason, standing_manifest_sha256
FROM indexing.revision
WHERE tenant = $1 AND kind = $2 AND key = $3
    AND (standing IS DISTINCT FROM 'excluded' OR extractor IS NULL)
UNION
(SELECT revision, content_sha256, media_type, size_bytes, published_sequence,
    extractor, failure, extraction_sha256, extracted_manifest_sha256, length,
    standing, standing_reason, standing_manifest_sha256
FROM indexing.revision
WHERE tenant = $1 AND kind = $2 AND key = $3
ORDER BY revision DESC
LIMIT 1);

-- name: save_resource
-- Store how far both logs were followed.
UPDATE indexing.resource
SET authority_sequence = $4, changed_sequence = $5, index_sequence = $6, state = $7
WHERE tenant = $1 AND kind = $2 AND key = $3;

-- name: save_revision
-- Store a revision with its outcome and what was said of it.
INSERT INTO indexing.revision (
    tenant, kind, key, revision, content_sha256, media_type, size_bytes, published_sequence,
    extractor, failure, extraction_sha256, extracted_manifest_sha256, length,
    standing, standing_reason, standing_manifest_sha256)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (tenant, kind, key, revision) DO UPDATE SET
    extractor = excluded.extractor,
    failure = excluded.failure,
    extraction_sha256 = excluded.extraction_sha256,
    extracted_manifest_sha256 = excluded.extracted_manifest_sha256,
    length = excluded.length,
    standing = excluded.standing,
    standing_reason = excluded.standing_reason,
    standing_manifest_sha256 = excluded.standing_manifest_sha256;
