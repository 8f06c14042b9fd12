-- Statements of the test fixtures: fresh databases, made from a migrated template.

-- name: render_create_database
-- The statement that creates a database from a template. Copying its files takes half the work of
-- the default, which writes every page to the log as well.
SELECT format('CREATE DATABASE %I TEMPLATE %I STRATEGY file_copy', $1::text, $2::text);

-- name: render_drop_database
-- The statement that removes a database, whoever is still connected.
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', $1::text);

-- name: read_chancery_roles
-- Every role of the product, and whether any attribute gives it power.
SELECT rolname, rolcanlogin,
    rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS power
FROM pg_catalog.pg_roles WHERE rolname LIKE 'chancery\_%';

-- name: read_object_owners
-- Who owns the schemas, tables, sequences and functions of the product.
SELECT rolname AS owner FROM pg_catalog.pg_roles WHERE oid IN (
    SELECT relowner FROM pg_catalog.pg_class WHERE relnamespace IN (
        SELECT oid FROM pg_catalog.pg_namespace
        WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public'))
    UNION SELECT proowner FROM pg_catalog.pg_proc WHERE pronamespace IN (
        SELECT oid FROM pg_catalog.pg_namespace
        WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public'))
    UNION SELECT nspowner FROM pg_catalog.pg_namespace
        WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public'));

-- name: read_chancery_members
-- Which roles may act as another role of the product.
SELECT granted.rolname AS role, member.rolname AS member
FROM pg_catalog.pg_auth_members AS m
JOIN pg_catalog.pg_roles AS granted ON granted.oid = m.roleid
JOIN pg_catalog.pg_roles AS member ON member.oid = m.member
WHERE granted.rolname LIKE 'chancery\_%';

-- name: read_stored_password
-- What the cluster keeps of a role's password.
SELECT rolpassword FROM pg_catalog.pg_authid WHERE rolname = $1::text;
