"""The sealing transaction on PostgreSQL: READ COMMITTED, the run's lock first."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from chancery.authority.names import AggregateRef
from chancery.release.adapters.authority_reader import read_at_cut
from chancery.release.adapters.runs import lock_run
from chancery.release.adapters.sealed import insert_release
from chancery.release.domain.runs import Run
from chancery.release.domain.sealing import SealedRows
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.errors import AlreadySealed
from chancery.store.pool import Connection, Pool, transaction, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_CLOCK = _QUERIES["read_clock"]


@dataclass(frozen=True, slots=True)
class PostgresDesk:
    """Opens sealing transactions."""

    pool: Pool

    async def clock(self) -> datetime:
        """Return the database's clock."""
        with translate_errors():
            now: datetime = await self.pool.fetchval(_READ_CLOCK)
        return now

    @asynccontextmanager
    async def transaction(self, run: Run) -> AsyncGenerator[PostgresSeal]:
        """Open the sealing transaction of a run; leaving it normally commits.

        Raises:
            AlreadySealed: another release of this generation was first.
            Unavailable: the database is away; after COMMIT was sent its outcome is unknown.
        """
        try:
            async with transaction(self.pool) as connection:
                yield PostgresSeal(connection, run)
        except asyncpg.UniqueViolationError as error:
            message = "another release of this generation was first"
            raise AlreadySealed(message) from error


@dataclass(frozen=True, slots=True)
class PostgresSeal:
    """One open sealing transaction."""

    connection: Connection
    run: Run

    async def lock_run(self) -> Run | None:
        """Return the run and hold it until the transaction ends."""
        return await lock_run(self.connection, self.run.tenant, self.run.run_id)

    async def read_at_cut(self, refs: Sequence[AggregateRef], cut: int) -> CutSnapshot:
        """Return the states of `refs`; one bounded statement."""
        return await read_at_cut(self.connection, self.run.tenant, refs, cut)

    async def clock(self) -> datetime:
        """Return the database's clock."""
        now: datetime = await self.connection.fetchval(_READ_CLOCK)
        return now

    async def insert(self, rows: SealedRows) -> None:
        """Insert a release with everything that belongs to it, and end its run."""
        await insert_release(self.connection, rows)
