-- Items and files have index states as sources and datasets have.

ALTER TABLE indexing.resource DROP CONSTRAINT resource_kind_check;
ALTER TABLE indexing.resource ADD CONSTRAINT resource_kind_check
    CHECK (kind IN ('source', 'dataset', 'item', 'file'));
ALTER TABLE indexing.wish DROP CONSTRAINT wish_kind_check;
ALTER TABLE indexing.wish ADD CONSTRAINT wish_kind_check
    CHECK (kind IN ('source', 'dataset', 'item', 'file'));
