-- Statements about revisions whose canonical form is gone.

-- name: sample_lost_forms
-- Some of the resources that have such a revision, other ones each time.
SELECT tenant, kind, key
FROM (
    SELECT DISTINCT tenant, kind, key FROM indexing.revision WHERE standing = 'unavailable'
) AS lost
ORDER BY random()
LIMIT $1;
