-- A snapshot that failed for a reason that passes is tried again: which attempt failed last, when,
-- and which one was told to come next, or to have been the last.

ALTER TABLE indexing.revision ADD COLUMN attempt integer CHECK (attempt >= 1);
ALTER TABLE indexing.revision ADD COLUMN failed_at timestamptz;
ALTER TABLE indexing.revision ADD COLUMN standing_attempt integer CHECK (standing_attempt >= 1);

CREATE INDEX revision_failed_tables ON indexing.revision (failed_at)
    WHERE kind = 'dataset' AND failure IS NOT NULL;
