-- How a parked message ended, and in whose words when it was discarded.

ALTER TABLE retrieval.parked
    ADD COLUMN resolution text CHECK (resolution IN ('retried', 'discarded')),
    ADD COLUMN note text;
