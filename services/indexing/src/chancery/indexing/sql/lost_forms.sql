-- Statements about revisions whose canonical form is gone.

-- name: sample_lost_forms
-- Some of the resources that have such a revision, other ones each time. One that was made by an
-- earlier build's extractor is pending as soon as it is looked at: whoever stops there leaves it so.
SELECT tenant, kind, key
FROM (
    SELECT tenant, kind, key FROM indexing.revision WHERE standing = 'unavailable'
    UNION
    SELECT tenant, kind, key FROM indexing.revision
    WHERE standing = 'pending' AND extractor IS NOT NULL AND kind <> 'dataset'
) AS lost
ORDER BY random()
LIMIT $1;
