"""The sealing transaction on PostgreSQL: READ COMMITTED, the runs' locks first.

Drafts that come while a transaction is on its way share the next one. Each is judged by itself,
from its own run and its own cut. When something is wrong with the whole, everybody gets a
transaction of their own, so that nobody fails for another's reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

import asyncpg

from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.release.adapters.authority_reader import CutPlace, read_at_cuts
from chancery.release.adapters.batches import Batches
from chancery.release.adapters.runs import lock_runs
from chancery.release.adapters.sealed import insert_releases
from chancery.release.domain.sealing import Judged, Sealable, SealedRows
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.errors import AlreadySealed
from chancery.runtime.logging import get_logger
from chancery.store.pool import Connection, Pool, transaction, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_CLOCK = _QUERIES["read_clock"]

SHARED_MAX: Final = 32

_log = get_logger("chancery.release")

_Outcome: TypeAlias = Judged | Exception


@dataclass(slots=True)
class PostgresDesk:
    """Commits releases; readings of the clock are shared as well."""

    pool: Pool
    _sealing: Batches[Sealable, _Outcome] = field(init=False)
    _clocks: Batches[None, datetime] = field(init=False)

    def __post_init__(self) -> None:
        """Share what is asked at the same time."""
        self._sealing = Batches(self._seal, items_max=SHARED_MAX)
        self._clocks = Batches(self._read_clock)

    async def clock(self) -> datetime:
        """Return the database's clock, read after this was called."""
        return await self._clocks.ask(None)

    async def seal(self, sealable: Sealable) -> Judged:
        """Take a draft through steps 5 to 7.

        Raises:
            AlreadySealed: another release of this generation was first.
            Unavailable: the database is away; after COMMIT was sent its outcome is unknown.
        """
        outcome = await self._sealing.ask(sealable)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _read_clock(self, asked: Sequence[None]) -> Sequence[datetime]:
        with translate_errors():
            now: datetime = await self.pool.fetchval(_READ_CLOCK)
        return [now] * len(asked)

    async def _seal(self, sealables: Sequence[Sealable]) -> Sequence[_Outcome]:
        if len(sealables) > 1:
            try:
                return await self._together(sealables)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 - it is raised again where it belongs
                _log.warning("a shared seal failed", kind=type(error).__name__)
        return [await self._alone(sealable) for sealable in sealables]

    async def _alone(self, sealable: Sealable) -> _Outcome:
        try:
            return (await self._together([sealable]))[0]
        except asyncpg.UniqueViolationError as error:
            message = "another release of this generation was first"
            raised = AlreadySealed(message)
            raised.__cause__ = error
            return raised
        except (ChanceryError, asyncpg.PostgresError) as error:
            return error

    async def _together(self, sealables: Sequence[Sealable]) -> Sequence[Judged]:
        async with transaction(self.pool) as connection:
            # Step 5. The locks first: the statement after it sees what their holders committed.
            runs = await lock_runs(connection, [each.draft.run for each in sealables])
            reads = await read_at_cuts(connection, [_place(each) for each in sealables])
            now = await _clock(connection, reads)
            judged: list[Judged] = [
                each.judge(run, read, now)
                for each, run, read in zip(sealables, runs, reads, strict=True)
            ]
            # Step 7.
            rows = [each for each in judged if isinstance(each, SealedRows)]
            if rows:
                await insert_releases(connection, rows)
        return judged


def _place(sealable: Sealable) -> CutPlace | None:
    draft, cut = sealable.draft, sealable.cut
    return None if cut is None else CutPlace(draft.run.tenant, draft.read_set, cut.sequence)


async def _clock(connection: Connection, reads: Sequence[CutSnapshot | None]) -> datetime:
    for read in reads:
        if read is not None:
            return read.snapshot.now
    now: datetime = await connection.fetchval(_READ_CLOCK)
    return now
