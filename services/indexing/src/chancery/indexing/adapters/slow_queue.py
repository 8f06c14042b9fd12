"""The revisions that are extracted by themselves, in PostgreSQL: taken by one process at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import LEASE_S, SlowRevision
from chancery.kernel.ids import random_id
from chancery.store.pool import Pool, borrow
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.indexing")
_RECORD = _QUERIES["record_slow_extraction"]
_TAKE = _QUERIES["take_slow_extraction"]
_RENEW = _QUERIES["renew_slow_extraction"]
_END = _QUERIES["end_slow_extraction"]
_GIVE_BACK = _QUERIES["give_slow_extraction_back"]


@dataclass(frozen=True, slots=True)
class PostgresSlowQueue:
    """The `SlowQueue` over schema `indexing`, of one `holder`."""

    pool: Pool
    lease_s: float = LEASE_S
    holder: str = field(default_factory=random_id)

    async def record(self, slow: SlowRevision) -> None:
        """Record a revision; see `SlowQueue.record`."""
        async with borrow(self.pool) as connection:
            await connection.execute(_RECORD, *_names(slow))

    async def take(self, served: Sequence[str] = ()) -> SlowRevision | None:
        """Take a revision; see `Waiting.take`."""
        async with borrow(self.pool) as connection:
            row = await connection.fetchrow(_TAKE, self.lease_s, list(served), self.holder)
        if row is None:
            return None
        return SlowRevision(ResourceRef(row["tenant"], row["kind"], row["key"]), row["revision"])

    async def renew(self, one: SlowRevision) -> bool:
        """Keep it; see `Waiting.renew`."""
        async with borrow(self.pool) as connection:
            kept = await connection.fetchval(_RENEW, *_names(one), self.holder, self.lease_s)
        return kept is True

    async def end(self, one: SlowRevision) -> None:
        """Forget it; see `Waiting.end`."""
        async with borrow(self.pool) as connection:
            await connection.execute(_END, *_names(one), self.holder)

    async def give_back(self, one: SlowRevision) -> None:
        """Let it be taken again; see `Waiting.give_back`."""
        async with borrow(self.pool) as connection:
            await connection.execute(_GIVE_BACK, *_names(one), self.holder)


def _names(slow: SlowRevision) -> tuple[str, str, str, int]:
    return slow.ref.tenant, slow.ref.kind, slow.ref.key, slow.revision
