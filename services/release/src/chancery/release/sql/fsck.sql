-- Reads of an examination; none of them changes anything.

-- name: count_releases
-- How many releases there are, of all runs or of one.
SELECT count(*) FROM release.release AS r WHERE $1::text IS NULL OR r.run_id = $1;

-- name: page_releases
-- The heads of some releases behind a place, with receipt and key; of all runs or of one.
SELECT r.tenant, r.release_id, r.run_id, r.generation, r.reset_context, r.kind, r.outcome,
       r.workspace_id, r.principal, r.cut_sequence, r.decided_at, r.language, r.request, r.citations,
       r.cards, r.sealed_at,
       p.receipt_sha256, p.body, p.public_key, p.signature, k.key, k.seed
FROM release.release AS r
LEFT JOIN release.receipt AS p ON p.tenant = r.tenant AND p.release_id = r.release_id
LEFT JOIN release.release_key AS k ON k.tenant = r.tenant AND k.release_id = r.release_id
WHERE (r.tenant, r.release_id) > ($1, $2) AND ($4::text IS NULL OR r.run_id = $4)
ORDER BY r.tenant, r.release_id LIMIT $3;

-- name: named_releases
-- Which of these releases there are.
SELECT r.tenant, r.release_id
FROM unnest($1::text[], $2::text[]) AS u (tenant, release_id)
JOIN release.release AS r ON r.tenant = u.tenant AND r.release_id = u.release_id;

-- name: count_cuts
-- How many cuts of the live set are at these places.
SELECT count(*) FROM release.live_set AS l
JOIN release.cut AS c ON c.table_set = l.table_set
JOIN unnest($1::text[], $2::bigint[]) AS u (tenant, sequence)
  ON u.tenant = c.tenant AND u.sequence = c.sequence
WHERE l.projection = 'authority';

-- name: read_sets_of
-- The read sets of some releases.
SELECT t.tenant, t.release_id, t.kind, t.id, t.sequence
FROM unnest($1::text[], $2::text[]) AS u (tenant, release_id)
JOIN release.release_read AS t ON t.tenant = u.tenant AND t.release_id = u.release_id;

-- name: contents_of
-- The encrypted content of some releases.
SELECT t.tenant, t.release_id, t.kind, t.n, t.ciphertext
FROM unnest($1::text[], $2::text[]) AS u (tenant, release_id)
JOIN release.content AS t ON t.tenant = u.tenant AND t.release_id = u.release_id;

-- name: citations_of
-- The citations of some releases, in order.
SELECT t.tenant, t.release_id, t.n, t.citation_id, t.kind, t.aggregate_kind, t.aggregate_id,
       t.revision
FROM unnest($1::text[], $2::text[]) AS u (tenant, release_id)
JOIN release.citation AS t ON t.tenant = u.tenant AND t.release_id = u.release_id
ORDER BY t.n;

-- name: cards_of
-- The cards of some releases, in order.
SELECT t.tenant, t.release_id, t.n, t.card_id, t.citation_id
FROM unnest($1::text[], $2::text[]) AS u (tenant, release_id)
JOIN release.card AS t ON t.tenant = u.tenant AND t.release_id = u.release_id
ORDER BY t.n;

-- name: frames_of
-- The event rows of some releases, each with the row behind it.
SELECT t.tenant, t.release_id, t.number, t.generation, t.event, t.body,
       e.generation AS end_generation, e.event AS end_event, e.body AS end_body
FROM unnest($1::text[], $2::text[], $3::text[]) AS u (tenant, release_id, run_id)
JOIN release.run_event AS t
  ON t.tenant = u.tenant AND t.run_id = u.run_id AND t.release_id = u.release_id
LEFT JOIN release.run_event AS e
  ON e.tenant = t.tenant AND e.run_id = t.run_id AND e.number = t.number + 1;

-- name: runs_of
-- Some runs with the numbers of their event rows, whether the generation of each has a release, and
-- what was asked: in one statement, since a run may go on meanwhile.
SELECT r.tenant, r.run_id, r.workspace_id, r.conversation_id, r.message, r.principal, r.credential_id,
       r.state, r.generation, r.lease, r.deadline, r.mode, r.bounds, r.question_sha256,
       r.traceparent, r.policy_sha256, r.admitted, r.gathered, r.proposed, r.detail, r.events,
       r.ended_at,
       ARRAY(SELECT e.number FROM release.run_event AS e
             WHERE e.tenant = r.tenant AND e.run_id = r.run_id ORDER BY e.number) AS numbers,
       EXISTS (SELECT FROM release.release AS x
               WHERE x.tenant = r.tenant AND x.run_id = r.run_id
                 AND x.generation = r.generation) AS is_released,
       m.run_id AS asked_run_id, m.credential_id AS asked_credential_id, m.body AS asked,
       c.workspace_id AS asked_workspace_id, c.principal AS asked_principal
FROM unnest($1::text[], $2::text[]) AS u (tenant, run_id)
JOIN release.run AS r ON r.tenant = u.tenant AND r.run_id = u.run_id
LEFT JOIN release.conversation AS c
  ON c.tenant = r.tenant AND c.conversation_id = r.conversation_id AND c.messages >= r.message
LEFT JOIN release.message AS m
  ON m.tenant = r.tenant AND m.conversation_id = r.conversation_id AND m.number = r.message;

-- name: waiting_of
-- Which of these events wait in the outbox.
SELECT o.event_id FROM release.outbox AS o
WHERE o.published_at IS NULL AND o.event_id = ANY ($1::text[]);

-- name: read_outbox_state
-- How many events wait, and the oldest of them.
SELECT count(*) AS waiting, coalesce(min(o.id), 0) AS oldest
FROM release.outbox AS o WHERE o.published_at IS NULL;

-- name: count_serving
-- How many revisions serve.
SELECT count(*) FROM release.live_set AS l
JOIN release.aggregate AS a ON a.table_set = l.table_set
WHERE l.projection = 'authority' AND a.serving IS NOT NULL;

-- name: page_serving
-- Some revisions that serve, behind a place, with their index entries.
SELECT a.tenant, a.kind, a.id, a.serving, coalesce(a.published, a.sequence) AS published, a.state,
       i.entry
FROM release.live_set AS l
JOIN release.aggregate AS a ON a.table_set = l.table_set
LEFT JOIN release.live_set AS x ON x.projection = 'index'
LEFT JOIN release.index_state AS i
  ON i.tenant = a.tenant AND i.table_set = x.table_set AND i.kind = a.kind AND i.key = a.id
 AND i.revision = a.serving
WHERE l.projection = 'authority' AND a.serving IS NOT NULL AND NOT a.frozen
  AND (a.tenant, a.kind, a.id) > ($1, $2, $3)
ORDER BY a.tenant, a.kind, a.id LIMIT $4;

-- name: count_harmless_cuts
-- How many cuts of the live set have no release.
SELECT count(*) FROM release.live_set AS l
JOIN release.cut AS c ON c.table_set = l.table_set
WHERE l.projection = 'authority' AND NOT EXISTS (
    SELECT FROM release.release AS r
    WHERE r.tenant = c.tenant AND r.run_id = c.run_id AND r.generation = c.generation
      AND r.cut_sequence = c.sequence);

-- name: count_parked_rows
-- How many messages of the workers of release wait for somebody.
SELECT count(*) FROM release.parked WHERE resolved_at IS NULL;

-- name: read_all_aggregates
-- Every aggregate of the live set.
SELECT a.tenant, a.kind, a.id, a.sequence, a.published, a.frozen, a.event_type, a.event_id,
       a.payload_sha256, a.state
FROM release.live_set AS l
JOIN release.aggregate AS a ON a.table_set = l.table_set
WHERE l.projection = 'authority';

-- name: read_all_entries
-- Every index entry of the live set.
SELECT i.tenant, i.kind, i.key, i.revision, i.entry
FROM release.live_set AS l
JOIN release.index_state AS i ON i.table_set = l.table_set
WHERE l.projection = 'index';

-- name: read_refused
-- The authority events whose rows the database did not take.
SELECT q.sequence FROM release.live_set AS l
JOIN release.quarantine AS q ON q.table_set = l.table_set
WHERE l.projection = 'authority' AND q.reason = $1;

-- name: read_refused_index
-- The index events whose rows the database did not take.
SELECT q.sequence FROM release.live_set AS l
JOIN release.quarantine_index AS q ON q.table_set = l.table_set
WHERE l.projection = 'index' AND q.reason = $1;
