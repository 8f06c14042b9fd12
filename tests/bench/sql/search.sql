-- name: create_passages
-- Make the table of the passages that are searched in PostgreSQL.
CREATE TABLE bench.passage (
    id integer PRIMARY KEY,
    revision integer NOT NULL,
    words tsvector NOT NULL
);

-- name: insert_passages
-- Store passages, their words in the form that is searched.
INSERT INTO bench.passage (id, revision, words)
SELECT id, revision, to_tsvector('english', passage)
FROM unnest($1::integer[], $2::integer[], $3::text[]) AS given (id, revision, passage);

-- name: index_words
-- Make the index of the words.
CREATE INDEX passage_words ON bench.passage USING gin (words);

-- name: index_revisions
-- Make the index of the revisions.
CREATE INDEX passage_revision ON bench.passage (revision);

-- name: analyze_passages
-- Tell the planner what the table holds.
ANALYZE bench.passage;

-- name: search_passages
-- Find the best passages of some revisions for any of the words.
SELECT id
FROM bench.passage, to_tsquery('english', $1) AS asked
WHERE words @@ asked AND revision = ANY($2::integer[])
ORDER BY ts_rank(words, asked) DESC
LIMIT $3;
