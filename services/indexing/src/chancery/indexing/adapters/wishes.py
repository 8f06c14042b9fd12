"""The wishes in PostgreSQL: each is a row, taken by one process at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import EVERY_S, LEASE_S, Wish
from chancery.indexing.errors import RefreshedRecently
from chancery.kernel.ids import random_id
from chancery.store.pool import Pool, borrow, transaction
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.indexing")
_RECORD = _QUERIES["record_wish"]
_READ = _QUERIES["read_wish"]
_TAKE = _QUERIES["take_wish"]
_RENEW = _QUERIES["renew_wish"]
_END = _QUERIES["end_wish"]
_GIVE_BACK = _QUERIES["give_wish_back"]


@dataclass(frozen=True, slots=True)
class PostgresWishes:
    """The `Wishes` over schema `indexing`, of one `holder`."""

    pool: Pool
    lease_s: float = LEASE_S
    holder: str = field(default_factory=random_id)

    async def record(self, wish: Wish) -> bool:
        """Record a wish; see `Wishes.record`."""
        names = _names(wish)
        async with transaction(self.pool) as connection:
            if await connection.fetchval(_RECORD, *names, wish.request_id, EVERY_S):
                return True
            row = await connection.fetchrow(_READ, *names, EVERY_S)
        assert row is not None, "a wish that is not recorded anew is there"
        if row["request_id"] == wish.request_id:
            return False
        raise RefreshedRecently(wait_s=row["wait_s"])

    async def take(self, served: Sequence[str] = ()) -> Wish | None:
        """Take an open wish; see `Waiting.take`."""
        async with borrow(self.pool) as connection:
            row = await connection.fetchrow(_TAKE, self.lease_s, list(served), self.holder)
        if row is None:
            return None
        ref = ResourceRef(row["tenant"], row["kind"], row["key"])
        return Wish(ref, row["revision"], row["request_id"])

    async def renew(self, one: Wish) -> bool:
        """Keep it; see `Waiting.renew`."""
        async with borrow(self.pool) as connection:
            kept = await connection.fetchval(_RENEW, *_names(one), self.holder, self.lease_s)
        return kept is True

    async def end(self, one: Wish) -> None:
        """Say that it was carried out; see `Waiting.end`."""
        async with borrow(self.pool) as connection:
            await connection.execute(_END, *_names(one), self.holder, one.request_id)

    async def give_back(self, one: Wish) -> None:
        """Let it be taken again; see `Waiting.give_back`."""
        async with borrow(self.pool) as connection:
            await connection.execute(_GIVE_BACK, *_names(one), self.holder)


def _names(wish: Wish) -> tuple[str, str, str, int]:
    return wish.ref.tenant, wish.ref.kind, wish.ref.key, wish.revision
