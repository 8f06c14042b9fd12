-- Revisions whose extraction takes longer than others should wait; each is done by itself.

CREATE TABLE indexing.slow_extraction (
    tenant text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('source', 'dataset', 'item', 'file')),
    key text NOT NULL,
    revision integer NOT NULL CHECK (revision >= 1),
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_until timestamptz,
    PRIMARY KEY (tenant, kind, key, revision)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON indexing.slow_extraction TO chancery_indexing;
