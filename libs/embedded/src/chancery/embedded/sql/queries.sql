-- Statements of the embedded runtime: its one database.

-- name: database_exists
-- Whether the cluster has a database of this name.
SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1::text);

-- name: render_create_database
-- The statement that creates it.
SELECT format('CREATE DATABASE %I', $1::text);
