-- Operators ask for another look at what a projection keeps in quarantine; its writer counts them.

ALTER TABLE release.checkpoint
    ADD COLUMN redrives bigint NOT NULL DEFAULT 0,
    ADD COLUMN redriven bigint NOT NULL DEFAULT 0;
