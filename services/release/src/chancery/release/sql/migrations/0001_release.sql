-- The release service: authority projection, index state, runs, and the sealed record.
--
-- Tenant comes first in every key. Projected tables carry `table_set`, so that a rebuild fills a
-- fresh set beside the live one and one row switches. Sealed tables are append-only for everybody:
-- triggers that fire ALWAYS refuse UPDATE, DELETE and TRUNCATE, and rows that belong to a release
-- can be inserted only by the transaction that sealed it.

-- Projections ------------------------------------------------------------------------------------

CREATE TABLE live_set (
    projection text PRIMARY KEY CHECK (projection IN ('authority', 'index')),
    table_set integer NOT NULL DEFAULT 1 CHECK (table_set > 0)
);
INSERT INTO release.live_set (projection) VALUES ('authority'), ('index');

CREATE TABLE checkpoint (
    projection text NOT NULL REFERENCES live_set (projection) ON DELETE RESTRICT,
    table_set integer NOT NULL CHECK (table_set > 0),
    stream_created text NOT NULL,
    sequence bigint NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    anchor_sequence bigint NOT NULL DEFAULT 0 CHECK (anchor_sequence >= 0),
    anchor_sha256 text CHECK (anchor_sha256 ~ '^[0-9a-f]{64}$'),
    moved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (projection, table_set),
    CHECK (anchor_sequence <= sequence)
);

CREATE TABLE aggregate (
    tenant text NOT NULL,
    table_set integer NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    workspace_id text,
    serving integer,
    published bigint,
    sequence bigint NOT NULL CHECK (sequence > 0),
    frozen boolean NOT NULL DEFAULT false,
    event_type text NOT NULL,
    event_id text NOT NULL,
    payload_sha256 text NOT NULL,
    state jsonb,
    PRIMARY KEY (tenant, table_set, kind, id)
);
CREATE INDEX aggregate_of_workspace ON aggregate (tenant, table_set, workspace_id, kind, id)
    WHERE workspace_id IS NOT NULL;

CREATE TABLE quarantine (
    tenant text NOT NULL,
    table_set integer NOT NULL,
    sequence bigint NOT NULL CHECK (sequence > 0),
    subject text NOT NULL,
    reason text NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (tenant, table_set, sequence)
);

CREATE TABLE quarantine_index (
    tenant text NOT NULL,
    table_set integer NOT NULL,
    sequence bigint NOT NULL CHECK (sequence > 0),
    subject text NOT NULL,
    reason text NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (tenant, table_set, sequence)
);

CREATE TABLE cut (
    tenant text NOT NULL,
    table_set integer NOT NULL,
    sequence bigint NOT NULL CHECK (sequence > 0),
    run_id text NOT NULL,
    generation integer NOT NULL,
    attempt integer NOT NULL,
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    PRIMARY KEY (tenant, table_set, sequence)
);

CREATE TABLE index_state (
    tenant text NOT NULL,
    table_set integer NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    revision integer NOT NULL CHECK (revision > 0),
    workspace_id text NOT NULL,
    state text NOT NULL CHECK (state IN ('excluded', 'pending', 'ready', 'failed', 'unavailable')),
    sequence bigint NOT NULL CHECK (sequence > 0),
    authority_sequence bigint NOT NULL,
    entry jsonb NOT NULL,
    PRIMARY KEY (tenant, table_set, kind, key, revision)
);

-- Conversations and runs -------------------------------------------------------------------------

CREATE TABLE conversation (
    tenant text NOT NULL,
    conversation_id text NOT NULL,
    workspace_id text NOT NULL,
    principal text NOT NULL,
    request_sha256 text NOT NULL,
    messages integer NOT NULL DEFAULT 0 CHECK (messages >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, conversation_id)
);

CREATE TABLE message (
    tenant text NOT NULL,
    conversation_id text NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    message_id text NOT NULL,
    run_id text NOT NULL,
    credential_id text NOT NULL,
    request_sha256 text NOT NULL,
    body jsonb NOT NULL,
    requested_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, conversation_id, number),
    UNIQUE (tenant, run_id),
    FOREIGN KEY (tenant, conversation_id) REFERENCES conversation ON DELETE RESTRICT
);

CREATE TABLE run (
    tenant text NOT NULL,
    run_id text NOT NULL,
    workspace_id text NOT NULL,
    conversation_id text NOT NULL,
    message integer NOT NULL,
    principal text NOT NULL,
    credential_id text NOT NULL,
    state text NOT NULL CHECK (
        state IN ('requested', 'admitted', 'gathered', 'proposed', 'sealed', 'refused')),
    generation integer NOT NULL DEFAULT 1 CHECK (generation > 0),
    lease text,
    deadline timestamptz NOT NULL,
    mode text NOT NULL,
    bounds jsonb NOT NULL,
    question_sha256 text NOT NULL,
    traceparent text,
    policy_sha256 text,
    admitted bytea,
    gathered bytea,
    proposed bytea,
    detail text,
    events integer NOT NULL DEFAULT 0 CHECK (events >= 0),
    ended_at timestamptz,
    PRIMARY KEY (tenant, run_id),
    FOREIGN KEY (tenant, conversation_id, message) REFERENCES message ON DELETE RESTRICT
);
CREATE INDEX run_open ON run (deadline) WHERE ended_at IS NULL;

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
    UNIQUE (stream, sequence, consumer)
);

CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_id text NOT NULL,
    subject text NOT NULL,
    body bytea NOT NULL,
    published_at timestamptz
);
CREATE INDEX outbox_waiting ON outbox (xid, id) WHERE published_at IS NULL;

-- The sealed record ------------------------------------------------------------------------------

CREATE TABLE release (
    tenant text NOT NULL,
    release_id text NOT NULL,
    run_id text NOT NULL,
    generation integer NOT NULL CHECK (generation > 0),
    reset_context text,
    kind text NOT NULL CHECK (kind IN ('sealed', 'refused')),
    outcome text,
    workspace_id text NOT NULL,
    principal text NOT NULL,
    cut_sequence bigint NOT NULL CHECK (cut_sequence >= 0),
    decided_at timestamptz NOT NULL,
    language text NOT NULL,
    request jsonb NOT NULL,
    citations integer NOT NULL CHECK (citations BETWEEN 0 AND 20),
    cards integer NOT NULL CHECK (cards BETWEEN 0 AND 20),
    sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sealed_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (tenant, release_id),
    UNIQUE (tenant, run_id, generation),
    UNIQUE (tenant, run_id, reset_context),
    CHECK ((kind = 'refused') = (outcome IS NOT NULL)),
    CHECK (kind = 'refused' OR (cut_sequence > 0 AND citations > 0 AND cards = citations))
);

CREATE TABLE release_read (
    tenant text NOT NULL,
    release_id text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    sequence bigint NOT NULL CHECK (sequence >= 0),
    PRIMARY KEY (tenant, release_id, kind, id),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT
);
CREATE INDEX release_read_by_aggregate ON release_read (tenant, kind, id);

CREATE TABLE citation (
    tenant text NOT NULL,
    release_id text NOT NULL,
    n integer NOT NULL CHECK (n BETWEEN 1 AND 20),
    citation_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('quote', 'value')),
    aggregate_kind text NOT NULL,
    aggregate_id text NOT NULL,
    revision integer NOT NULL CHECK (revision > 0),
    PRIMARY KEY (tenant, release_id, n),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT
);

CREATE TABLE card (
    tenant text NOT NULL,
    release_id text NOT NULL,
    n integer NOT NULL CHECK (n BETWEEN 1 AND 20),
    card_id text NOT NULL,
    citation_id text NOT NULL,
    PRIMARY KEY (tenant, release_id, n),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT
);

CREATE TABLE receipt (
    tenant text NOT NULL,
    release_id text NOT NULL,
    receipt_sha256 text NOT NULL CHECK (receipt_sha256 ~ '^[0-9a-f]{64}$'),
    body bytea NOT NULL,
    public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
    signature bytea NOT NULL,
    PRIMARY KEY (tenant, release_id),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT
);

CREATE TABLE content (
    tenant text NOT NULL,
    release_id text NOT NULL,
    kind text NOT NULL CHECK (
        kind IN ('text', 'statements', 'citations', 'cards', 'executions', 'document', 'frame')),
    n integer NOT NULL CHECK (n >= 0),
    ciphertext bytea NOT NULL,
    PRIMARY KEY (tenant, release_id, kind, n),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT
);

-- Server-sent events of a run; a row with a release carries its bytes in content, kind frame.
CREATE TABLE run_event (
    tenant text NOT NULL,
    run_id text NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    generation integer NOT NULL CHECK (generation > 0),
    event text NOT NULL CHECK (event IN ('activity', 'state', 'sealed', 'refused', 'end')),
    body jsonb,
    release_id text,
    PRIMARY KEY (tenant, run_id, number),
    FOREIGN KEY (tenant, release_id) REFERENCES release ON DELETE RESTRICT,
    CHECK ((body IS NULL) = (release_id IS NOT NULL)),
    CHECK ((event IN ('sealed', 'refused')) = (release_id IS NOT NULL))
);

-- Keys can be erased; so nothing references them and they reference nothing.
CREATE TABLE release_key (
    tenant text NOT NULL,
    release_id text NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 32),
    seed bytea NOT NULL CHECK (octet_length(seed) = 16),
    PRIMARY KEY (tenant, release_id)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'sealed rows of %.% are never changed or removed', TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION stamp_release() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.sealed_xid := pg_current_xact_id();
    NEW.sealed_at := clock_timestamp();
    RETURN NEW;
END
$$;

CREATE FUNCTION require_own_release() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.release_id IS NULL OR EXISTS (
        SELECT 1 FROM release.release AS r
        WHERE r.tenant = NEW.tenant AND r.release_id = NEW.release_id
          AND r.sealed_xid = pg_current_xact_id()
    ) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'a row of %.% belongs to no release of this transaction',
        TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER stamp BEFORE INSERT ON release
    FOR EACH ROW EXECUTE FUNCTION stamp_release();
ALTER TABLE release ENABLE ALWAYS TRIGGER stamp;

DO $$
DECLARE
    sealed text;
BEGIN
    FOREACH sealed IN ARRAY ARRAY[
        'release', 'release_read', 'citation', 'card', 'receipt', 'content', 'run_event']
    LOOP
        EXECUTE format('CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON %I
            FOR EACH ROW EXECUTE FUNCTION refuse_change()', sealed);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER refuse_change', sealed);
        EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %I
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', sealed);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER refuse_truncate', sealed);
    END LOOP;
    FOREACH sealed IN ARRAY ARRAY[
        'release_read', 'citation', 'card', 'receipt', 'content', 'run_event', 'release_key']
    LOOP
        EXECUTE format('CREATE TRIGGER own_release BEFORE INSERT ON %I
            FOR EACH ROW EXECUTE FUNCTION require_own_release()', sealed);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER own_release', sealed);
    END LOOP;
END
$$;

CREATE TRIGGER refuse_change BEFORE UPDATE ON release_key
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
ALTER TABLE release_key ENABLE ALWAYS TRIGGER refuse_change;
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON release_key
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE release_key ENABLE ALWAYS TRIGGER refuse_truncate;

-- Who may do what --------------------------------------------------------------------------------

REVOKE ALL ON FUNCTION refuse_change(), stamp_release(), require_own_release() FROM PUBLIC;

GRANT SELECT ON live_set TO chancery_release;
GRANT SELECT, INSERT, UPDATE, DELETE ON checkpoint, aggregate, quarantine, quarantine_index,
    cut, index_state
    TO chancery_release;
GRANT SELECT, INSERT, UPDATE ON conversation, message, run TO chancery_release;
GRANT SELECT, INSERT, UPDATE, DELETE ON parked, outbox TO chancery_release;
GRANT SELECT, INSERT ON release, release_read, citation, card, receipt, content, run_event,
    release_key TO chancery_release;

GRANT USAGE ON SCHEMA release TO chancery_eraser;
GRANT SELECT (tenant, release_id), DELETE ON release_key TO chancery_eraser;
