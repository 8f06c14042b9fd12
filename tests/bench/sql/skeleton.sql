-- name: create_schema
-- Make the place of the skeleton's one table.
CREATE SCHEMA bench;

-- name: create_marks
-- Make the table that the skeleton's one transaction writes to.
CREATE TABLE bench.mark (run text PRIMARY KEY, cut bigint NOT NULL);

-- name: insert_mark
-- Note one run of the skeleton and the position of its cut.
INSERT INTO bench.mark (run, cut) VALUES ($1, $2);

-- name: read_version
-- Say which PostgreSQL this is.
SELECT current_setting('server_version');
