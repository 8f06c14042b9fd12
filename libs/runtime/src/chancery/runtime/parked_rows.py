"""The table `parked` of one service's schema, read and resolved."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal

import asyncpg

from chancery.events.parked import FindParked, ParkedState
from chancery.events.topology import Service
from chancery.kernel.errors import Conflict
from chancery.runtime.parked import ParkedRow
from chancery.store.pool import Connection, Pool, transaction
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.runtime")
_USE_SCHEMA: Final = _QUERIES["use_schema"]
_FIND: Final = _QUERIES["find_parked"]
_COUNT: Final = _QUERIES["count_parked"]
_PARK_AGAIN: Final = _QUERIES["park_again"]
_RESOLVE: Final = _QUERIES["resolve_parked"]

Resolution = Literal["retried", "discarded"]


@dataclass(frozen=True, slots=True)
class ParkedRows:
    """The rows of one schema."""

    pool: Pool
    schema: Service

    async def find(self, wish: FindParked) -> list[ParkedRow]:
        """Return the first `limit + 1` rows behind `after`, in the order of their names."""
        after = ("", 0) if wish.after is None else (wish.after.consumer, wish.after.sequence)
        async with self._in_schema() as connection:
            rows = await connection.fetch(
                _FIND,
                wish.consumer,
                wish.sequence,
                wish.reason,
                wish.resolved,
                *after,
                wish.limit + 1,
            )
        return [_row_of(row) for row in rows]

    async def count(self) -> int:
        """Return how many wait for somebody."""
        async with self._in_schema() as connection:
            return await connection.fetchval(_COUNT)

    async def park_again(self, row: ParkedRow, reason: str, attempts: int) -> int:
        """Keep a message that failed so many times more; return the count of all attempts.

        Raises:
            Conflict: somebody else resolved it meanwhile.
        """
        async with self._in_schema() as connection:
            total = await connection.fetchval(
                _PARK_AGAIN, row.consumer, row.sequence, reason, attempts
            )
        return _changed(total)

    async def resolve(
        self, row: ParkedRow, resolution: Resolution, *, note: str | None = None, attempts: int = 0
    ) -> int:
        """Say how a message ended; return the count of all attempts.

        Raises:
            Conflict: somebody else resolved it meanwhile.
        """
        async with self._in_schema() as connection:
            total = await connection.fetchval(
                _RESOLVE, row.consumer, row.sequence, resolution, note, attempts
            )
        return _changed(total)

    @asynccontextmanager
    async def _in_schema(self) -> AsyncGenerator[Connection]:
        async with transaction(self.pool) as connection:
            await connection.execute(_USE_SCHEMA, self.schema)
            yield connection


def _changed(total: int | None) -> int:
    if total is None:
        message = "somebody else resolved the parked message meanwhile"
        raise Conflict(message, code="parked_resolved")
    return total


def _row_of(row: asyncpg.Record) -> ParkedRow:
    state: ParkedState = row["resolution"] or "parked"
    return ParkedRow(
        consumer=row["consumer"],
        stream=row["stream"],
        sequence=row["sequence"],
        subject=row["subject"],
        payload=row["payload"],
        reason=row["reason"],
        state=state,
        attempts=row["attempts"],
        tenant=row["tenant"],
        message_id=row["message_id"],
        parked_at=row["parked_at"],
        resolved_at=row["resolved_at"],
        note=row["note"],
    )
