-- What a backup has to know of the schemas; their names are data here.

-- name: list_tables
-- Every table with the columns that mean something in another cluster (transaction ids do not).
SELECT n.nspname AS schema, c.relname AS name,
       array_agg(a.attname::text ORDER BY a.attnum)
           FILTER (WHERE a.atttypid <> 'xid8'::regtype AND a.attgenerated = '') AS columns
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a
  ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND n.nspname = ANY ($1::text[])
GROUP BY n.nspname, c.relname
ORDER BY n.nspname, c.relname;

-- name: list_references
-- Which table needs the rows of which other one: by its foreign keys, or because a trigger takes
-- rows of the same transaction's releases only.
SELECT fn.nspname AS schema, f.relname AS name, tn.nspname AS needs_schema,
       t.relname AS needs_name
FROM pg_catalog.pg_constraint AS k
JOIN pg_catalog.pg_class AS f ON f.oid = k.conrelid
JOIN pg_catalog.pg_namespace AS fn ON fn.oid = f.relnamespace
JOIN pg_catalog.pg_class AS t ON t.oid = k.confrelid
JOIN pg_catalog.pg_namespace AS tn ON tn.oid = t.relnamespace
WHERE k.contype = 'f' AND k.conrelid <> k.confrelid AND fn.nspname = ANY ($1::text[])
UNION
SELECT n.nspname, c.relname, n.nspname, 'release'
FROM pg_catalog.pg_trigger AS g
JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE g.tgname = 'own_releases' AND n.nspname = ANY ($1::text[]);

-- name: render_has_rows
-- The statement that tells whether a table holds anything.
SELECT format('SELECT EXISTS (SELECT FROM %I.%I)', $1::text, $2::text);

-- name: render_empty
-- The statement that removes what a migration seeded.
SELECT format('DELETE FROM %I.%I', $1::text, $2::text);

-- name: render_move_sequences
-- The statements that let identity columns go on behind the restored rows.
SELECT format(
    'SELECT setval(%L, coalesce((SELECT max(%I) FROM %I.%I), 0) + 1, false)',
    pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname),
    a.attname, n.nspname, c.relname) AS statement
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid AND c.relkind = 'r'
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE a.attidentity <> '' AND n.nspname = ANY ($1::text[]);

-- name: render_make_room
-- The statement that makes a place beside a table, where rows are compared before they go in.
SELECT format('CREATE TEMPORARY TABLE restored (LIKE %I.%I) ON COMMIT DROP', $1::text, $2::text);

-- name: render_adopt
-- The statement that takes those rows whose owner was restored.
SELECT format(
    'INSERT INTO %1$I.%2$I SELECT r.* FROM restored AS r WHERE EXISTS (SELECT FROM %1$I.%3$I AS o'
    ' WHERE o.tenant = r.tenant AND o.release_id = r.release_id)',
    $1::text, $2::text, $3::text);
