-- Every generation of a run after its first, and the request that began it.

CREATE TABLE run_retry (
    tenant text NOT NULL,
    run_id text NOT NULL,
    generation integer NOT NULL CHECK (generation > 1),
    request_id text NOT NULL,
    credential_id text NOT NULL,
    requested_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, run_id, generation),
    UNIQUE (tenant, run_id, request_id),
    FOREIGN KEY (tenant, run_id) REFERENCES run ON DELETE RESTRICT
);

GRANT SELECT, INSERT ON run_retry TO chancery_release;
