-- A form that was lost and that another extractor is to make by now is pending until it has.

CREATE INDEX revision_stale ON indexing.revision (tenant, kind, key)
    WHERE standing = 'pending' AND extractor IS NOT NULL AND kind <> 'dataset';
