"""The snapshots that are due to be tried again, as the ledger has them in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.indexing.domain.attempts import PASSING, WAITS_S
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import SlowRevision
from chancery.store.pool import Pool, borrow
from chancery.store.queries import load_queries

_DUE = load_queries("chancery.indexing")["read_due_attempts"]


@dataclass(frozen=True, slots=True)
class PostgresRetries:
    """The `Retries` over schema `indexing`; `waits_s` are those of `attempts`."""

    pool: Pool
    waits_s: Sequence[float] = WAITS_S

    async def due(self, limit: int) -> Sequence[SlowRevision]:
        """Return some of them; see `Retries.due`."""
        async with borrow(self.pool) as connection:
            rows = await connection.fetch(_DUE, sorted(PASSING), list(self.waits_s), limit)
        return [
            SlowRevision(ResourceRef(row["tenant"], row["kind"], row["key"]), row["revision"])
            for row in rows
        ]
