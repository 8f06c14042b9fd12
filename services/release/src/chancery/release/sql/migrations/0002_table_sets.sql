-- A rebuilt projection goes live by one row. Who writes the projection may say which set is live.

GRANT UPDATE (table_set) ON live_set TO chancery_release;
CREATE INDEX aggregate_frozen ON aggregate (table_set, tenant, kind, id) WHERE frozen;
