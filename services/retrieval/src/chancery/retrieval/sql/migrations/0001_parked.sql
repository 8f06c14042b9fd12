-- Messages that no retry can help wait here for an operator (see chancery.runtime.parking).

CREATE TABLE retrieval.parked (
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
    UNIQUE (stream, sequence, consumer)
);

GRANT SELECT, INSERT, UPDATE ON retrieval.parked TO chancery_retrieval;
