-- name: create_parked
-- The table that the first migration of a service with workers copies into its own schema.
CREATE TABLE parked (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text,
    stream text NOT NULL,
    sequence bigint NOT NULL,
    consumer text NOT NULL,
    subject text NOT NULL,
    message_id text,
    reason text NOT NULL,
    attempts integer NOT NULL,
    payload bytea NOT NULL,
    parked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    resolved_at timestamptz,
    resolution text CHECK (resolution IN ('retried', 'discarded')),
    note text,
    UNIQUE (stream, sequence, consumer)
);
