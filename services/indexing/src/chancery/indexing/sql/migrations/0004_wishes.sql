-- What somebody asked to have indexed again; revision 0 means the whole resource.

CREATE TABLE indexing.wish (
    tenant text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('source', 'dataset')),
    key text NOT NULL,
    revision integer NOT NULL CHECK (revision >= 0),
    request_id text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_until timestamptz,
    done_at timestamptz,
    PRIMARY KEY (tenant, kind, key, revision)
);

CREATE INDEX wish_open ON indexing.wish (asked_at) WHERE done_at IS NULL;

GRANT SELECT, INSERT, UPDATE ON indexing.wish TO chancery_indexing;
