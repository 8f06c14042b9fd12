-- A revision can be unavailable: its canonical form was made and is gone.

ALTER TABLE indexing.revision DROP CONSTRAINT revision_standing_check;
ALTER TABLE indexing.revision ADD CONSTRAINT revision_standing_check
    CHECK (standing IN ('pending', 'ready', 'failed', 'excluded', 'unavailable'));

CREATE INDEX revision_lost ON indexing.revision (tenant, kind, key)
    WHERE standing = 'unavailable';
