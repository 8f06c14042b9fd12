-- Statements of the store itself: durability, roles and migrations.

-- name: read_durability
-- The settings without which a committed row may be lost.
SELECT name, setting FROM pg_catalog.pg_settings
WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes');

-- name: lock_migrations
-- Wait for our turn to migrate this database; the lock belongs to the session.
SELECT pg_catalog.pg_advisory_lock(hashtextextended('chancery.migrations', 0));

-- name: unlock_migrations
-- Let the next one migrate.
SELECT pg_catalog.pg_advisory_unlock(hashtextextended('chancery.migrations', 0));

-- name: read_roles
-- Which of these roles exist.
SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = ANY ($1::text[]);

-- name: render_create_group_role
-- The statement that creates a role nobody can log in as.
SELECT format(
    'CREATE ROLE %I NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', $1::text);

-- name: render_create_runtime_role
-- The statement that creates the role of one service.
SELECT format(
    'CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', $1::text);

-- name: render_set_password
-- The statement that sets a role's password from its SCRAM verifier, never from the clear text.
SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text);

-- name: render_become_owner
-- The statement that lets the migrating role act as the owner.
SELECT format('GRANT %I TO CURRENT_USER WITH INHERIT TRUE, SET TRUE', $1::text);

-- name: may_become_owner
-- Whether the migrating role can already act as the owner.
SELECT pg_catalog.pg_has_role(current_user, $1::text, 'SET');

-- name: render_create_schema
-- The statement that creates a schema of the owner.
SELECT format('CREATE SCHEMA IF NOT EXISTS %I AUTHORIZATION %I', $1::text, $2::text);

-- name: render_grant_usage
-- The statement that lets a service see its own schema.
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', $1::text, $2::text);

-- name: close_public_schema
-- Nobody may use the shared schema.
REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- name: become_owner
-- Act as the owner, with this search path, until the transaction ends.
SELECT set_config('role', $1::text, true), set_config('search_path', $2::text, true);

-- name: create_migration_table
-- Remember what was applied.
CREATE TABLE IF NOT EXISTS chancery_meta.migration (
    service text NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    name text NOT NULL,
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (service, number)
);

-- name: read_applied
-- Every migration that was applied.
SELECT service, number, name, sha256 FROM chancery_meta.migration ORDER BY service, number;

-- name: insert_applied
-- Record one applied migration.
INSERT INTO chancery_meta.migration (service, number, name, sha256) VALUES ($1, $2, $3, $4);

-- name: try_lock_outbox
-- Become the one relay of the outbox with this name, or learn that another one is.
SELECT pg_catalog.pg_try_advisory_lock(hashtextextended('chancery.outbox.' || $1::text, 0));

-- name: unlock_outbox
-- Let another relay work on this outbox.
SELECT pg_catalog.pg_advisory_unlock(hashtextextended('chancery.outbox.' || $1::text, 0));
