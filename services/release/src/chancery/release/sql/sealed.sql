-- The sealed record: written once, in the sealing transaction, and only read afterwards.

-- name: read_clock
-- The database's clock.
SELECT clock_timestamp();

-- name: insert_release
-- The head of a sealed or refused run.
INSERT INTO release.release
    (tenant, release_id, run_id, generation, kind, outcome, workspace_id, principal, cut_sequence,
     decided_at, language, request, citations, cards)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: insert_children
-- All that belongs to a release, its event rows, the end of its run, and the event for the bus.
WITH read_set AS (
    INSERT INTO release.release_read (tenant, release_id, kind, id, sequence)
    SELECT $1, $2, u.kind, u.id, u.sequence
    FROM unnest($4::text[], $5::text[], $6::bigint[]) AS u (kind, id, sequence)
), cited AS (
    INSERT INTO release.citation
        (tenant, release_id, n, citation_id, kind, aggregate_kind, aggregate_id, revision)
    SELECT $1, $2, u.n, u.citation_id, u.kind, u.aggregate_kind, u.aggregate_id, u.revision
    FROM unnest($7::integer[], $8::text[], $9::text[], $10::text[], $11::text[], $12::integer[])
        AS u (n, citation_id, kind, aggregate_kind, aggregate_id, revision)
), carded AS (
    INSERT INTO release.card (tenant, release_id, n, card_id, citation_id)
    SELECT $1, $2, u.n, u.card_id, u.citation_id
    FROM unnest($13::integer[], $14::text[], $15::text[]) AS u (n, card_id, citation_id)
), encrypted AS (
    INSERT INTO release.content (tenant, release_id, kind, n, ciphertext)
    SELECT $1, $2, u.kind, u.n, u.ciphertext
    FROM unnest($16::text[], $17::integer[], $18::bytea[]) AS u (kind, n, ciphertext)
), signed AS (
    INSERT INTO release.receipt (tenant, release_id, receipt_sha256, body, public_key, signature)
    VALUES ($1, $2, $19, $20, $21, $22)
), keyed AS (
    INSERT INTO release.release_key (tenant, release_id, key, seed) VALUES ($1, $2, $23, $24)
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body, release_id)
    VALUES ($1, $3, $25, $26, $27, NULL, $2),
           ($1, $3, $25 + 1, $26, 'end', '{}'::jsonb, NULL)
), ended AS (
    UPDATE release.run
    SET state = $27, detail = $28, events = $25 + 1, ended_at = clock_timestamp()
    WHERE tenant = $1 AND run_id = $3
)
INSERT INTO release.outbox (event_id, subject, body) VALUES ($29, $30, $31);

-- name: read_release
-- The release of one generation of a run, with its receipt and, unless erased, its keys.
SELECT r.release_id, r.run_id, r.generation, r.kind, r.outcome, r.workspace_id, r.principal,
       r.cut_sequence, r.decided_at, r.language, r.request, p.receipt_sha256, p.body AS receipt, p.public_key,
       p.signature, k.key, k.seed
FROM release.release AS r
JOIN release.receipt AS p ON p.tenant = r.tenant AND p.release_id = r.release_id
LEFT JOIN release.release_key AS k ON k.tenant = r.tenant AND k.release_id = r.release_id
WHERE r.tenant = $1 AND r.run_id = $2 AND r.generation = $3;

-- name: read_content
-- The encrypted content of a release, of these kinds.
SELECT kind, n, ciphertext FROM release.content
WHERE tenant = $1 AND release_id = $2 AND kind = ANY ($3::text[])
ORDER BY kind, n;

-- name: read_read_set
-- The aggregates that a release was decided on.
SELECT kind, id, sequence FROM release.release_read
WHERE tenant = $1 AND release_id = $2 ORDER BY kind, id;

-- name: read_citations
-- The citations of a release, in order.
SELECT n, citation_id, kind, aggregate_kind, aggregate_id, revision
FROM release.citation WHERE tenant = $1 AND release_id = $2 ORDER BY n;

-- name: read_outbox
-- The oldest rows that are not yet published and that nothing can still precede.
SELECT id, event_id, subject, body FROM release.outbox
WHERE published_at IS NULL AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, id LIMIT $1;

-- name: mark_published
-- Remember that these rows are on the bus.
UPDATE release.outbox SET published_at = clock_timestamp() WHERE id = ANY ($1::bigint[]);
