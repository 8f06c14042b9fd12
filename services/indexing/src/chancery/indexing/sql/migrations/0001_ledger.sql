-- What indexing knows of each resource and revision. Rebuilt from AUTHORITY and INDEX if lost.

CREATE TABLE indexing.resource (
    tenant text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('source', 'dataset')),
    key text NOT NULL,
    authority_sequence bigint NOT NULL DEFAULT 0,
    changed_sequence bigint NOT NULL DEFAULT 0,
    index_sequence bigint NOT NULL DEFAULT 0,
    state jsonb,
    PRIMARY KEY (tenant, kind, key)
);

CREATE TABLE indexing.revision (
    tenant text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    revision integer NOT NULL CHECK (revision > 0),
    content_sha256 text NOT NULL,
    media_type text NOT NULL,
    size_bytes bigint NOT NULL,
    published_sequence bigint NOT NULL,
    extractor text,
    failure text,
    extraction_sha256 text,
    extracted_manifest_sha256 text,
    length bigint,
    standing text CHECK (standing IN ('pending', 'ready', 'failed', 'excluded')),
    standing_reason text,
    standing_manifest_sha256 text,
    PRIMARY KEY (tenant, kind, key, revision),
    FOREIGN KEY (tenant, kind, key) REFERENCES indexing.resource (tenant, kind, key)
);

CREATE INDEX revision_open ON indexing.revision (tenant, kind, key)
    WHERE standing IS DISTINCT FROM 'excluded' OR extractor IS NULL;

GRANT SELECT, INSERT, UPDATE ON indexing.resource, indexing.revision TO chancery_indexing;
