-- Conversations, messages, runs and their event rows.

-- name: insert_conversation
-- Open a conversation; a repeat changes nothing.
INSERT INTO release.conversation
    (tenant, conversation_id, workspace_id, principal, request_sha256)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, conversation_id) DO NOTHING;

-- name: read_conversation
-- One conversation.
SELECT workspace_id, principal, request_sha256, messages, created_at
FROM release.conversation WHERE tenant = $1 AND conversation_id = $2;

-- name: read_message_of_run
-- The message that asked a run's question.
SELECT conversation_id, number, message_id, credential_id, request_sha256, body, requested_at
FROM release.message WHERE tenant = $1 AND run_id = $2;

-- name: read_messages
-- The messages of a conversation with the runs that answer them, in order.
SELECT m.number, m.message_id, m.run_id, m.requested_at, r.state, r.generation
FROM release.message AS m
JOIN release.run AS r ON r.tenant = m.tenant AND r.run_id = m.run_id
WHERE m.tenant = $1 AND m.conversation_id = $2
ORDER BY m.number;

-- name: insert_message
-- Record a question under the next number of its conversation, its run, and the first event row.
WITH numbered AS (
    UPDATE release.conversation SET messages = messages + 1
    WHERE tenant = $1 AND conversation_id = $2
    RETURNING messages AS number
), asked AS (
    INSERT INTO release.message
        (tenant, conversation_id, number, message_id, run_id, credential_id, request_sha256, body,
         requested_at)
    SELECT $1, $2, n.number, $3, $4, $5, $6, $7, $8 FROM numbered AS n
), started AS (
    INSERT INTO release.run
        (tenant, run_id, workspace_id, conversation_id, message, principal, credential_id, state,
         deadline, mode, bounds, question_sha256, traceparent, events)
    SELECT $1, $4, $9, $2, n.number, $10, $5, 'requested', $11, $12, $13, $14, $15, 1
    FROM numbered AS n
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT $1, $4, 1, 1, 'state', jsonb_build_object('state', 'requested') FROM numbered AS n
)
SELECT number FROM numbered;

-- name: read_runs
-- Some runs, by tenant and id.
SELECT r.tenant, r.run_id, r.workspace_id, r.conversation_id, r.message, r.principal, r.credential_id,
       r.state, r.generation, r.lease, r.deadline, r.mode, r.bounds, r.question_sha256,
       r.traceparent, r.policy_sha256, r.admitted, r.gathered, r.proposed, r.detail, r.events,
       r.ended_at
FROM unnest($1::text[], $2::text[]) AS u (tenant, run_id)
JOIN release.run AS r ON r.tenant = u.tenant AND r.run_id = u.run_id;

-- name: lock_runs
-- Hold some runs until this transaction ends; everybody takes locks in the order of the arrays.
SELECT r.tenant, r.run_id, r.state, r.generation, r.lease, r.events, r.ended_at IS NULL AS is_open
FROM unnest($1::text[], $2::text[]) AS u (tenant, run_id)
CROSS JOIN LATERAL (
    SELECT l.tenant, l.run_id, l.state, l.generation, l.lease, l.events, l.ended_at
    FROM release.run AS l
    WHERE l.tenant = u.tenant AND l.run_id = u.run_id
    FOR UPDATE
) AS r;

-- name: read_retry
-- The generation that a request began.
SELECT generation, credential_id, requested_at FROM release.run_retry
WHERE tenant = $1 AND run_id = $2 AND request_id = $3;

-- name: retry_run
-- Begin the next generation of a run that has ended: everything of the last one stays but its lease.
WITH ended AS (
    SELECT r.generation FROM release.run AS r
    WHERE r.tenant = $1 AND r.run_id = $2 AND r.generation = $3 AND r.ended_at IS NOT NULL
    FOR UPDATE
), kept AS (
    INSERT INTO release.run_retry
        (tenant, run_id, generation, request_id, credential_id, requested_at)
    SELECT $1, $2, e.generation + 1, $4, $5, $6 FROM ended AS e
), moved AS (
    UPDATE release.run AS r
    SET state = 'requested', generation = e.generation + 1, credential_id = $5, deadline = $7,
        traceparent = $8, lease = NULL, policy_sha256 = NULL, admitted = NULL, gathered = NULL,
        proposed = NULL, detail = NULL, ended_at = NULL, events = r.events + 1
    FROM ended AS e
    WHERE r.tenant = $1 AND r.run_id = $2
    RETURNING r.generation, r.events
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT $1, $2, m.events, m.generation, 'state', jsonb_build_object('state', 'requested')
    FROM moved AS m
)
SELECT count(*) = 1 FROM moved;

-- name: admit_run
-- Give a requested run its lease and scope, once.
WITH moved AS (
    UPDATE release.run
    SET state = 'admitted', lease = $3, admitted = $4, policy_sha256 = $5, events = events + 1
    WHERE tenant = $1 AND run_id = $2 AND generation = $6 AND state = 'requested'
    RETURNING generation, events
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT $1, $2, m.events, m.generation, 'state', jsonb_build_object('state', 'admitted')
    FROM moved AS m
)
SELECT count(*) = 1 FROM moved;

-- name: keep_gathered
-- Store what was gathered under the current lease, once.
WITH moved AS (
    UPDATE release.run
    SET state = 'gathered', gathered = $5, events = events + 1
    WHERE tenant = $1 AND run_id = $2 AND generation = $3 AND lease = $4 AND state = 'admitted'
    RETURNING generation, events
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT $1, $2, m.events, m.generation, 'state', jsonb_build_object('state', 'gathered')
    FROM moved AS m
)
SELECT count(*) = 1 FROM moved;

-- name: keep_proposed
-- Store what was proposed for some runs, each under its current lease and once; return which. The
-- locks are taken in the order of the arrays.
WITH held AS (
    SELECT r.tenant, r.run_id, u.proposed
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::bytea[])
        AS u (tenant, run_id, generation, lease, proposed)
    CROSS JOIN LATERAL (
        SELECT l.tenant, l.run_id FROM release.run AS l
        WHERE l.tenant = u.tenant AND l.run_id = u.run_id AND l.generation = u.generation
          AND l.lease = u.lease AND l.state = 'gathered'
        FOR UPDATE
    ) AS r
), moved AS (
    UPDATE release.run AS r
    SET state = 'proposed', proposed = h.proposed, events = r.events + 1
    FROM held AS h
    WHERE r.tenant = h.tenant AND r.run_id = h.run_id
    RETURNING r.tenant, r.run_id, r.generation, r.events, r.proposed
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT m.tenant, m.run_id, m.events, m.generation, 'state',
           jsonb_build_object('state', 'proposed')
    FROM moved AS m
)
SELECT tenant, run_id, proposed FROM moved;

-- name: record_activity
-- Tell the caller that a stage did something; the event's id makes a redelivery change nothing, and
-- beyond a thousand rows nothing more is told of what goes on.
WITH moved AS (
    UPDATE release.run SET events = events + 1
    WHERE tenant = $1 AND run_id = $2 AND generation = $3 AND lease = $4 AND ended_at IS NULL
      AND events < 1000
      AND NOT EXISTS (
          SELECT 1 FROM release.run_event AS e
          WHERE e.tenant = $1 AND e.run_id = $2 AND e.event = 'activity'
            AND e.body ->> 'event_id' = $6)
    RETURNING generation, events
), told AS (
    INSERT INTO release.run_event (tenant, run_id, number, generation, event, body)
    SELECT $1, $2, m.events, m.generation, 'activity', $5 FROM moved AS m
)
SELECT count(*) = 1 FROM moved;

-- name: read_overdue_runs
-- Open runs whose deadline has passed.
SELECT tenant, run_id, generation FROM release.run
WHERE ended_at IS NULL AND deadline <= clock_timestamp()
ORDER BY deadline LIMIT $1;

-- name: read_next_deadline
-- Seconds until the next open run is overdue (null: none is open).
SELECT extract(epoch FROM min(deadline) - clock_timestamp())::float8
FROM release.run WHERE ended_at IS NULL;

-- name: read_run_with_events
-- A run with the event rows of its generation behind a number, or from their beginning when the run
-- has not come so far; a content row brings its bytes encrypted.
SELECT r.run_id, r.workspace_id, r.conversation_id, r.message, r.principal, r.credential_id,
       r.state, r.generation, r.lease, r.deadline, r.mode, r.bounds, r.question_sha256,
       r.traceparent, r.policy_sha256, r.admitted, r.gathered, r.proposed, r.detail, r.events,
       r.ended_at, t.numbers, t.generations, t.kinds, t.bodies, t.ciphertexts
FROM release.run AS r
CROSS JOIN LATERAL (
    SELECT array_agg(s.number ORDER BY s.number) AS numbers,
           array_agg(s.generation ORDER BY s.number) AS generations,
           array_agg(s.event ORDER BY s.number) AS kinds,
           array_agg(s.body ORDER BY s.number) AS bodies,
           array_agg(s.ciphertext ORDER BY s.number) AS ciphertexts
    FROM (
        SELECT e.number, e.generation, e.event, e.body, c.ciphertext
        FROM release.run_event AS e
        LEFT JOIN release.content AS c
          ON c.tenant = e.tenant AND c.release_id = e.release_id AND c.kind = 'frame'
         AND c.n = e.number
        WHERE e.tenant = $1 AND e.run_id = $2 AND e.generation = r.generation
          AND e.number > CASE WHEN $3::integer <= r.events THEN $3::integer ELSE 0 END
        ORDER BY e.number LIMIT $4
    ) AS s
) AS t
WHERE r.tenant = $1 AND r.run_id = $2;
