-- The sealed record: written once, in the sealing transaction, and only read afterwards.

-- name: read_clock
-- The database's clock.
SELECT clock_timestamp();

-- name: insert_releases
-- The heads of sealed or refused runs.
INSERT INTO release.release
    (tenant, release_id, run_id, generation, kind, outcome, workspace_id, principal, cut_sequence,
     decided_at, language, request, citations, cards, reset_context)
SELECT u.tenant, u.release_id, u.run_id, u.generation, u.kind, u.outcome, u.workspace_id,
       u.principal, u.cut_sequence, u.decided_at, u.language, u.request::jsonb, u.citations, u.cards,
       u.reset_context
FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::bigint[], $10::timestamptz[], $11::text[], $12::text[], $13::integer[],
        $14::integer[], $15::text[])
    AS u (tenant, release_id, run_id, generation, kind, outcome, workspace_id, principal,
          cut_sequence, decided_at, language, request, citations, cards, reset_context);

-- name: insert_children
-- All that belongs to releases ($1, $2; a child names its own by place), their event rows, the ends
-- of their runs, and the events for the bus. Columns of ids and numbers come as text joined by
-- commas: a driver looks at each element of an array.
WITH read_set AS (
    INSERT INTO release.release_read (tenant, release_id, kind, id, sequence)
    SELECT ($1::text[])[u.place], ($2::text[])[u.place], u.kind, u.id, u.sequence
    FROM unnest(string_to_array($3::text, ',')::integer[], string_to_array($4::text, ','),
            string_to_array($5::text, ','), string_to_array($6::text, ',')::bigint[])
        AS u (place, kind, id, sequence)
), cited AS (
    INSERT INTO release.citation
        (tenant, release_id, n, citation_id, kind, aggregate_kind, aggregate_id, revision)
    SELECT ($1::text[])[u.place], ($2::text[])[u.place], u.n, u.citation_id, u.kind,
           u.aggregate_kind, u.aggregate_id, u.revision
    FROM unnest(string_to_array($7::text, ',')::integer[],
            string_to_array($8::text, ',')::integer[], string_to_array($9::text, ','),
            string_to_array($10::text, ','), string_to_array($11::text, ','),
            string_to_array($12::text, ','), string_to_array($13::text, ',')::integer[])
        AS u (place, n, citation_id, kind, aggregate_kind, aggregate_id, revision)
), carded AS (
    INSERT INTO release.card (tenant, release_id, n, card_id, citation_id)
    SELECT ($1::text[])[u.place], ($2::text[])[u.place], u.n, u.card_id, u.citation_id
    FROM unnest(string_to_array($14::text, ',')::integer[],
            string_to_array($15::text, ',')::integer[], string_to_array($16::text, ','),
            string_to_array($17::text, ','))
        AS u (place, n, card_id, citation_id)
), encrypted AS (
    INSERT INTO release.content (tenant, release_id, kind, n, ciphertext)
    SELECT ($1::text[])[u.place], ($2::text[])[u.place], u.kind, u.n, u.ciphertext
    FROM unnest(string_to_array($18::text, ',')::integer[], string_to_array($19::text, ','),
            string_to_array($20::text, ',')::integer[], $21::bytea[])
        AS u (place, kind, n, ciphertext)
), sealed AS (
    SELECT u.tenant, u.release_id, u.run_id, u.receipt_sha256, u.receipt, u.public_key,
           u.signature, u.key, u.seed, u.number, u.generation, u.kind, u.detail, u.event_id,
           u.subject, u.body, u.place
    FROM unnest($1::text[], $2::text[], $22::text[], $23::text[], $24::bytea[], $25::bytea[],
            $26::bytea[], $27::bytea[], $28::bytea[], $29::integer[], $30::integer[], $31::text[],
            $32::text[], $33::text[], $34::text[], $35::bytea[])
        WITH ORDINALITY
        AS u (tenant, release_id, run_id, receipt_sha256, receipt, public_key, signature, key, seed,
              number, generation, kind, detail, event_id, subject, body, place)
), signed AS (
    INSERT INTO release.receipt (tenant, release_id, receipt_sha256, body, public_key, signature)
    SELECT s.tenant, s.release_id, s.receipt_sha256, s.receipt, s.public_key, s.signature
    FROM sealed AS s
), keyed AS (
    INSERT INTO release.release_key (tenant, release_id, key, seed)
    SELECT s.tenant, s.release_id, s.key, s.seed FROM sealed AS s
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body, release_id)
    SELECT s.tenant, s.run_id, s.number, s.generation, s.kind, NULL::jsonb, s.release_id
    FROM sealed AS s
    UNION ALL
    SELECT s.tenant, s.run_id, s.number + 1, s.generation, 'end', '{}'::jsonb, NULL
    FROM sealed AS s
), ended AS (
    UPDATE release.run AS r
    SET state = s.kind, detail = s.detail, events = s.number + 1, ended_at = clock_timestamp()
    FROM sealed AS s
    WHERE r.tenant = s.tenant AND r.run_id = s.run_id
)
INSERT INTO release.outbox (event_id, subject, body)
SELECT s.event_id, s.subject, s.body FROM sealed AS s ORDER BY s.place;

-- name: read_release
-- The release of one generation of a run, with its receipt and, unless erased, its keys.
SELECT r.release_id, r.run_id, r.generation, r.kind, r.outcome, r.workspace_id, r.principal,
       r.cut_sequence, r.decided_at, r.language, r.request, p.receipt_sha256, p.body AS receipt, p.public_key,
       p.signature, k.key, k.seed
FROM release.release AS r
JOIN release.receipt AS p ON p.tenant = r.tenant AND p.release_id = r.release_id
LEFT JOIN release.release_key AS k ON k.tenant = r.tenant AND k.release_id = r.release_id
WHERE r.tenant = $1 AND r.run_id = $2 AND r.generation = $3;

-- name: read_run_with_release
-- A run with the release of the generation that it has now, if any, and its encrypted document.
SELECT u.tenant, u.run_id, u.workspace_id, u.conversation_id, u.message, u.principal,
       u.credential_id, u.state, u.generation, u.lease, u.deadline, u.mode, u.bounds,
       u.question_sha256, u.traceparent, u.policy_sha256, u.admitted, u.gathered, u.proposed,
       u.detail, u.events, u.ended_at,
       s.release_id, s.workspace_id AS sealed_workspace_id, s.principal AS sealed_principal,
       s.outcome, s.cut_sequence, s.decided_at, s.language, s.request, s.receipt_sha256,
       s.receipt, s.public_key, s.signature, s.key, s.seed, s.document
FROM release.run AS u
LEFT JOIN LATERAL (
    SELECT r.release_id, r.workspace_id, r.principal, r.outcome, r.cut_sequence, r.decided_at,
           r.language, r.request, p.receipt_sha256, p.body AS receipt, p.public_key, p.signature,
           k.key, k.seed, c.ciphertext AS document
    FROM release.release AS r
    JOIN release.receipt AS p ON p.tenant = r.tenant AND p.release_id = r.release_id
    LEFT JOIN release.release_key AS k ON k.tenant = r.tenant AND k.release_id = r.release_id
    LEFT JOIN release.content AS c
      ON c.tenant = r.tenant AND c.release_id = r.release_id AND c.kind = 'document' AND c.n = 0
    WHERE r.tenant = u.tenant AND r.run_id = u.run_id AND r.generation = u.generation
    OFFSET 0
) AS s ON true
WHERE u.tenant = $1 AND u.run_id = $2;

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
