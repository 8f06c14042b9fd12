-- Statements of the test fixtures: fresh databases, made from a migrated template.

-- name: render_create_database
-- The statement that creates a database from a template.
SELECT format('CREATE DATABASE %I TEMPLATE %I', $1::text, $2::text);

-- name: render_drop_database
-- The statement that removes a database, whoever is still connected.
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', $1::text);
