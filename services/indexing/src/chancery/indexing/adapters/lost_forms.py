"""The resources whose canonical form is gone, as the ledger has them in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.indexing.domain.history import ResourceRef
from chancery.store.pool import Pool, borrow
from chancery.store.queries import load_queries

_SAMPLE = load_queries("chancery.indexing")["sample_lost_forms"]


@dataclass(frozen=True, slots=True)
class PostgresLostForms:
    """The `LostForms` over schema `indexing`."""

    pool: Pool

    async def sample(self, limit: int) -> Sequence[ResourceRef]:
        """Return some of them; see `LostForms.sample`."""
        async with borrow(self.pool) as connection:
            rows = await connection.fetch(_SAMPLE, limit)
        return [ResourceRef(row["tenant"], row["kind"], row["key"]) for row in rows]
