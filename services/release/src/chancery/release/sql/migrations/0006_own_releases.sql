-- That rows belong to a release of their own transaction is asked once for a whole statement: row by
-- row it took as much of a seal's time as all else that the database does for it.

CREATE FUNCTION require_own_releases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM inserted AS i
        WHERE i.release_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM release.release AS r
            WHERE r.tenant = i.tenant AND r.release_id = i.release_id
              AND r.sealed_xid = pg_current_xact_id())
    ) THEN
        RAISE EXCEPTION 'a row of %.% belongs to no release of this transaction',
            TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    sealed text;
BEGIN
    FOREACH sealed IN ARRAY ARRAY[
        'release_read', 'citation', 'card', 'receipt', 'content', 'run_event', 'release_key']
    LOOP
        EXECUTE format('CREATE TRIGGER own_releases AFTER INSERT ON %I
            REFERENCING NEW TABLE AS inserted
            FOR EACH STATEMENT EXECUTE FUNCTION require_own_releases()', sealed);
        EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER own_releases', sealed);
        EXECUTE format('DROP TRIGGER own_release ON %I', sealed);
    END LOOP;
END
$$;

DROP FUNCTION require_own_release();
REVOKE ALL ON FUNCTION require_own_releases() FROM PUBLIC;
