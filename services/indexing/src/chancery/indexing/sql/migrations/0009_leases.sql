-- Which process has taken what waits; a lease is renewed, ended and given back by its holder alone.

ALTER TABLE indexing.slow_extraction ADD COLUMN taken_by text;
ALTER TABLE indexing.wish ADD COLUMN taken_by text;
