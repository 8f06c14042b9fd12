"""Rebuilds a projection into a table set beside the live one, and switches to it.

The new set has a consumer, a checkpoint and a digest of its own; a rebuild that was interrupted
goes on at its checkpoint. The switch holds the live checkpoint for a moment, lets the new set catch
up to exactly there, compares the digests, and changes one row. The live writer finds its checkpoint
gone and goes on with the new set.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

import asyncpg
from prometheus_client import CollectorRegistry, Gauge
from pydantic import SecretStr

from chancery.bus.connection import Connection as Bus
from chancery.bus.load import Stored, StreamState, last_sequence, message_at
from chancery.bus.reader import PullReader
from chancery.events.topology import Consumer
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import to_text
from chancery.kernel.errors import Conflict, Rejected, Unavailable
from chancery.release.adapters.projector import Turn
from chancery.release.adapters.windows import Way, way_into
from chancery.release.domain.marks import EMPTY_DIGEST, LogIdentity, Mark, check_log
from chancery.release.errors import DigestDiffers
from chancery.release.ports import Applier
from chancery.release.ports.table_sets import (
    Checkpoint,
    Progress,
    ProjectionName,
    Switched,
    TableSet,
    Waiting,
)
from chancery.store.pool import Connection, Pool, borrow, connect, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_TRY_LOCK = _QUERIES["try_lock_rebuild"]
_RELAX_COMMIT = _QUERIES["relax_commit"]
_READ_TABLE_SETS = _QUERIES["read_table_sets"]
_COUNT_QUARANTINED = _QUERIES["count_quarantined"]
_ADD_TABLE_SET = _QUERIES["add_table_set"]
_LOCK_LIVE = _QUERIES["lock_live_checkpoint"]
_MAKE_LIVE = _QUERIES["make_live"]
_PRUNE: Final = {
    "authority": ("prune_aggregates", "prune_cuts", "prune_quarantine"),
    "index": ("prune_index_states", "prune_quarantine_index"),
}

NAME: Final = "chancery-release-rebuild"
BATCH_MESSAGES: Final = 1000
PRUNED_ROWS: Final = 5_000
HOLD_S: Final = 1.0
"""How long a switch may hold the live projection; barriers wait for it up to two seconds."""
IDLE_S: Final = 0.2
WATCH_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Rebuilds one projection; one process at a time."""

    name: ProjectionName
    bus: Bus
    dsn: SecretStr
    consumer: Consumer
    new_applier: Callable[[], Applier]

    async def rebuild(self, report: Callable[[Progress], None]) -> Checkpoint:
        """Fill the set beside the live one up to the end of the log; return where it stands.

        Raises:
            Conflict: another process is rebuilding.
            ForeignLog: the log is not the one that the set was begun from.
            Unavailable: bus or database are away; call again and it goes on.
        """
        async with self.alone() as db:
            checkpoint = await self._begin(db)
            mark = await self._advance(db, checkpoint, report=report)
            return replace(checkpoint, mark=mark)

    async def switch(self) -> Switched:
        """Make the rebuilt set live, when its digest is the live one's; remove the old rows.

        Raises:
            Rejected: nothing was rebuilt.
            DigestDiffers: the two sets were not built from the same messages.
            Conflict: another process is rebuilding.
            Unavailable: the new set could not catch up in time, or bus or database are away.
        """
        async with self.alone() as db:
            checkpoint = await self._rebuilt(db)
            mark = await self._advance(db, checkpoint, report=_silent)
            switched = await self._switch(db, replace(checkpoint, mark=mark))
            await self._prune(db, switched.before)
            return switched

    async def _switch(self, db: Connection, checkpoint: Checkpoint) -> Switched:
        dsn = self.dsn.get_secret_value()
        async with connect(dsn, name=NAME) as holder, holder.transaction():
            live = _checkpoint(await holder.fetchrow(_LOCK_LIVE, self.name), self.name)
            try:
                async with asyncio.timeout(HOLD_S):
                    target = live.mark.sequence
                    mark = await self._advance(db, checkpoint, report=_silent, target=target)
            except TimeoutError as error:
                message = "the rebuilt projection did not catch up in time; switch again"
                raise Unavailable(message) from error
            if (mark.digest, mark.anchor_sequence) != (
                live.mark.digest,
                live.mark.anchor_sequence,
            ):
                message = f"the rebuilt {self.name} projection has another digest than the live one"
                raise DigestDiffers(message)
            await holder.execute(
                _MAKE_LIVE, self.name, live.table_set, checkpoint.table_set, live.mark.sequence
            )
        return Switched(
            self.name, live.table_set, checkpoint.table_set, live.mark.sequence, mark.digest
        )

    async def _begin(self, db: Connection) -> Checkpoint:
        state = await last_sequence(self.bus, self.consumer.stream)
        sets = [each for each in await read_table_sets(db) if each.projection == self.name]
        live = next((each.checkpoint.table_set for each in sets if each.is_live), 0)
        begun = [each.checkpoint.table_set for each in sets if not each.is_live]
        table_set = max(begun, default=live + 1)
        created = to_text(state.created)
        await db.execute(_ADD_TABLE_SET, self.name, table_set, created, EMPTY_DIGEST)
        checkpoint = await self._rebuilt(db)
        await self._check_log(checkpoint, state)
        return checkpoint

    async def _rebuilt(self, db: Connection) -> Checkpoint:
        for each in await read_table_sets(db):
            if each.projection == self.name and not each.is_live:
                return each.checkpoint
        message = f"there is no rebuilt {self.name} projection; rebuild it first"
        raise Rejected(message, code="not_rebuilt")

    async def _check_log(self, checkpoint: Checkpoint, state: StreamState) -> None:
        mark, stream = checkpoint.mark, self.consumer.stream
        anchor = None
        if 0 < mark.anchor_sequence <= state.last:
            found = await message_at(self.bus, stream, mark.anchor_sequence)
            anchor = None if found is None else sha256_hex(found.payload)
        identity = LogIdentity(state.created, state.last, anchor)
        check_log(mark, checkpoint.stream_created, identity, stream=stream)

    async def _advance(
        self,
        db: Connection,
        checkpoint: Checkpoint,
        *,
        report: Callable[[Progress], None],
        target: int | None = None,
    ) -> Mark:
        """Return the mark at the end of the log, or at exactly `target`."""
        mark = checkpoint.mark
        if target is not None and mark.sequence >= target:
            return mark
        turn = Turn(db, checkpoint.table_set, self.new_applier(), self.name)
        clock = _Clock(self.name, mark.sequence, report)
        async with way_into(turn) as way:
            is_there = False
            while not is_there:
                mark, is_there = await self._read(way, mark, clock, target)
        return mark

    async def _read(
        self, way: Way, mark: Mark, clock: _Clock, target: int | None
    ) -> tuple[Mark, bool]:
        """Read on and store; return the mark, and whether it is at the end or the target."""
        reader = PullReader(self.bus, self.consumer, BATCH_MESSAGES, IDLE_S)
        async with aclosing(reader.read(mark.sequence)) as batches:
            async for batch in batches:
                wanted = [each for each in batch if target is None or each.sequence <= target]
                mark = await _take(way, mark, wanted)
                if wanted and mark.sequence < wanted[-1].sequence:
                    return mark, False
                clock.tell(mark.sequence, reader.pending)
                is_there = target is not None and mark.sequence >= target
                if is_there or len(wanted) < len(batch) or reader.pending == 0:
                    break
        settled = await way.settle(mark)
        return settled, settled.sequence == mark.sequence

    async def _prune(self, db: Connection, table_set: int) -> None:
        for name in _PRUNE[self.name]:
            removed = PRUNED_ROWS
            while removed == PRUNED_ROWS:
                status = await db.execute(_QUERIES[name], table_set, PRUNED_ROWS)
                removed = int(status.split()[-1])

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[Connection]:
        """Hold the right to rebuild this projection, on a connection of its own.

        Raises:
            Conflict: another process holds it.
        """
        async with connect(self.dsn.get_secret_value(), name=NAME) as db:
            with translate_errors():
                if not await db.fetchval(_TRY_LOCK, self.name):
                    message = f"another process is rebuilding the {self.name} projection"
                    raise Conflict(message, code="rebuild_running")
                await db.execute(_RELAX_COMMIT)
                yield db


async def _take(way: Way, mark: Mark, messages: Sequence[Stored]) -> Mark:
    """Hand messages over in batches, until one of them has to be read again."""
    for first in range(0, len(messages), BATCH_MESSAGES):
        batch = messages[first : first + BATCH_MESSAGES]
        mark = await way.apply(mark, batch)
        if mark.sequence < batch[-1].sequence:
            break
    return mark


async def read_table_sets(db: Connection) -> tuple[TableSet, ...]:
    """Return every table set with a checkpoint."""
    with translate_errors():
        rows = await db.fetch(_READ_TABLE_SETS)
    return tuple(
        TableSet(
            row["projection"],
            row["table_set"] == row["live_set"],
            _checkpoint(row, row["projection"]),
        )
        for row in rows
    )


async def count_waiting(db: Connection) -> Waiting:
    """Return what the live authority set keeps back."""
    with translate_errors():
        row = await db.fetchrow(_COUNT_QUARANTINED)
    return Waiting(0, 0) if row is None else Waiting(row["quarantined"], row["frozen"])


async def watch_waiting(pool: Pool, registry: CollectorRegistry) -> None:
    """Show for ever how many aggregates are frozen and how many events wait.

    Raises:
        Unavailable: the database is away; run again.
    """
    frozen = _gauge("frozen_aggregates", "Aggregates that every decision denies.", registry)
    waiting = _gauge("quarantined_events", "Events that this build could not fold.", registry)
    try:
        while True:
            async with borrow(pool) as connection:
                found = await count_waiting(connection)
            frozen.set(found.frozen)
            waiting.set(found.quarantined)
            await asyncio.sleep(WATCH_S)
    finally:
        registry.unregister(frozen)
        registry.unregister(waiting)


def _gauge(name: str, text: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(f"chancery_release_{name}", text, registry=registry)


@dataclass(slots=True)
class _Clock:
    """Tells progress once a second."""

    projection: str
    first: int
    report: Callable[[Progress], None]
    began: float = 0.0
    told: float = 0.0

    def __post_init__(self) -> None:
        self.began = self.told = time.monotonic()

    def tell(self, sequence: int, pending: int) -> None:
        """Report when the last report is a second old, or the end was reached."""
        now = time.monotonic()
        if now - self.told < 1 and pending > 0:
            return
        self.told = now
        per_s = (sequence - self.first) / max(now - self.began, 0.001)
        left_s = pending / per_s if per_s > 0 else None
        self.report(Progress(self.projection, sequence, sequence + pending, per_s, left_s))


def _checkpoint(row: asyncpg.Record | None, projection: str) -> Checkpoint:
    if row is None:
        message = f"the projection {projection} has not been started"
        raise Unavailable(message, code="projection_missing")
    mark = Mark(row["sequence"], row["digest"], row["anchor_sequence"], row["anchor_sha256"])
    return Checkpoint(row["table_set"], row["stream_created"], mark)


def _silent(progress: Progress) -> None:
    del progress
