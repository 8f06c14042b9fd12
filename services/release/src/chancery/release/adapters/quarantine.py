"""The quarantines of the projections as an operator sees them, beside what the workers parked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from chancery.events.parked import FindParked, ParkedRetried
from chancery.events.topology import RELEASE_AUTHORITY, RELEASE_INDEX
from chancery.events.topology import consumer as consumer_of
from chancery.kernel.errors import Unavailable
from chancery.release.ports.table_sets import ProjectionName
from chancery.runtime.parked import ParkedRow
from chancery.store.pool import Pool, borrow
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.release")
_ASK: Final = _QUERIES["ask_redrive"]
_READ: Final = _QUERIES["read_redrives"]

REDRIVE_S: Final = 20.0
POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Quarantine:
    """What one projection keeps back; its writer, in whichever process, tries it again."""

    pool: Pool
    projection: ProjectionName
    consumer: str
    find_statement: str
    count_statement: str

    async def find(self, wish: FindParked) -> list[ParkedRow]:
        """Return the first `limit + 1` events behind `after`."""
        after = 0 if wish.after is None else wish.after.sequence
        async with borrow(self.pool) as connection:
            rows = await connection.fetch(
                self.find_statement, wish.sequence, wish.reason, after, wish.limit + 1
            )
        return [
            ParkedRow(
                consumer=self.consumer,
                stream=consumer_of(self.consumer).stream,
                sequence=row["sequence"],
                subject=row["subject"],
                payload=row["payload"],
                reason=row["reason"],
                state="quarantined",
                tenant=row["tenant"],
            )
            for row in rows
        ]

    async def count(self) -> int:
        """Return how many events wait."""
        async with borrow(self.pool) as connection:
            return await connection.fetchval(self.count_statement)

    async def retry(self, row: ParkedRow) -> ParkedRetried:
        """Let the writer try its whole quarantine; tell whether this event still waits.

        Raises:
            Unavailable: no writer did so in time.
        """
        async with borrow(self.pool) as connection:
            wish = await connection.fetchval(_ASK, self.projection)
        await self._wait_in_time(wish)
        wanted = FindParked(consumer=row.consumer, sequence=row.sequence, limit=1)
        left = await self.find(wanted)
        if not left:
            return ParkedRetried(outcome="handled", attempts=0)
        return ParkedRetried(outcome="parked", reason=left[0].reason, attempts=0)

    async def _wait_in_time(self, wish: int | None) -> None:
        try:
            async with asyncio.timeout(REDRIVE_S):
                await self._wait_until_done(wish)
        except TimeoutError as error:
            message = f"no process writes the {self.projection} projection now; look again later"
            raise Unavailable(message, code="no_writer") from error

    async def _wait_until_done(self, wish: int | None) -> None:
        while True:
            if await self._is_done(wish):
                return
            await asyncio.sleep(POLL_S)

    async def _is_done(self, wish: int | None) -> bool:
        async with borrow(self.pool) as connection:
            row = await connection.fetchrow(_READ, self.projection)
        if wish is None or row is None:
            return wish is None
        # A set that went live meanwhile was tried when its writer took it up.
        return row["redriven"] >= wish or row["redrives"] < wish


def quarantines(pool: Pool) -> tuple[Quarantine, Quarantine]:
    """Return both quarantines."""
    return (
        Quarantine(
            pool,
            "authority",
            RELEASE_AUTHORITY,
            _QUERIES["find_quarantined"],
            _QUERIES["count_authority_quarantine"],
        ),
        Quarantine(
            pool,
            "index",
            RELEASE_INDEX,
            _QUERIES["find_quarantined_index"],
            _QUERIES["count_index_quarantine"],
        ),
    )
