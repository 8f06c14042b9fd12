"""Follows a stream into PostgreSQL: one writer at a time, rows and checkpoint in one transaction.

The writer holds an advisory lock, and the checkpoint moves by compare-and-set, so that a second one
cannot hurt. A process that is not the writer follows the checkpoint while somebody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import asyncpg
from pydantic import SecretStr

from chancery.bus.connection import Connection as Bus
from chancery.bus.load import Stored, last_sequence, message_at
from chancery.bus.reader import PullReader
from chancery.events.topology import Consumer
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import to_text
from chancery.kernel.errors import Unavailable
from chancery.release.adapters.refusals import REFUSED, is_doubtful
from chancery.release.domain.marks import EMPTY_DIGEST, LogIdentity, Mark, check_log
from chancery.release.errors import NotTheWriter
from chancery.release.ports import Applier
from chancery.release.ports.position import Position
from chancery.release.ports.table_sets import Checkpoint, ProjectionName
from chancery.runtime.logging import get_logger
from chancery.store.pool import Connection, connect, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_TRY_LOCK = _QUERIES["try_lock_projection"]
_RELAX_COMMIT = _QUERIES["relax_commit"]
_ENSURE_CHECKPOINT = _QUERIES["ensure_checkpoint"]
_READ_CHECKPOINT = _QUERIES["read_checkpoint"]
_READ_REDRIVES = _QUERIES["read_redrives"]
_MARK_REDRIVEN = _QUERIES["mark_redriven"]

_log = get_logger("chancery.release")

BATCH_MESSAGES = 500
IDLE_S = 0.25
"""How long after a reconnect the log may go uncompared; until then nothing is told."""
WISHES_S = 0.5
STANDBY_POLL_S = 0.01
STANDBY_IDLE_S = 0.25


@dataclass(slots=True)
class Projector:
    """Keeps one projection up with its stream; `is_writer` and `pending` are for readiness."""

    name: ProjectionName
    bus: Bus
    dsn: SecretStr
    consumer: Consumer
    new_applier: Callable[[], Applier]
    position: Position
    drain: Callable[[Connection, int, Mark], Awaitable[int]] | None = None
    is_writer: bool = False
    pending: int = 0
    has_read: bool = False

    @property
    def is_caught_up(self) -> bool:
        """Tell whether everything that was there at the last look has been projected."""
        return self.has_read and self.pending == 0

    async def prepare(self) -> Checkpoint:
        """Compare the stream with the checkpoint, making the first one when there is none.

        Raises:
            ForeignLog: the stream is not the one that the projection was built from.
            Unavailable: bus or database are away.
        """
        async with connect(self.dsn.get_secret_value(), name="chancery-release-projection") as db:
            return await self._check(db)

    async def run(self) -> None:
        """Follow the stream for ever, as the writer when nobody else is.

        Raises:
            Unavailable: bus or database are away; run again.
            ForeignLog: see `prepare`.
        """
        async with connect(self.dsn.get_secret_value(), name="chancery-release-projection") as db:
            try:
                await self._run(db)
            except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError) as error:
                message = "the projection lost its database connection"
                raise Unavailable(message) from error
            finally:
                self.is_writer = False
                self.has_read = False

    async def _run(self, db: Connection) -> None:
        with translate_errors():
            while not await db.fetchval(_TRY_LOCK, self.name):
                await self._stand_by(db)
            self.is_writer = True
            await db.execute(_RELAX_COMMIT)
            while True:
                # Again when a rebuilt table set went live, and after each reconnect: a server that
                # was away may come back with another log.
                await self._follow(db, await self._check(db))

    async def _check(self, db: Connection) -> Checkpoint:
        stream, generation = self.consumer.stream, self.bus.generation
        state = await last_sequence(self.bus, stream)
        with translate_errors():
            created = to_text(state.created)
            await db.execute(_ENSURE_CHECKPOINT, self.name, created, EMPTY_DIGEST)
            checkpoint = await read_checkpoint(db, self.name)
        anchor = None
        if 0 < checkpoint.mark.anchor_sequence <= state.last:
            found = await message_at(self.bus, stream, checkpoint.mark.anchor_sequence)
            anchor = sha256_hex(found.payload) if found is not None else None
        identity = LogIdentity(state.created, state.last, anchor)
        check_log(checkpoint.mark, checkpoint.stream_created, identity, stream=stream)
        self.position.advance(checkpoint.mark.sequence)
        self.position.generation = generation
        self.pending = state.last - checkpoint.mark.sequence
        return checkpoint

    async def _follow(self, db: Connection, checkpoint: Checkpoint) -> None:
        """Follow until another table set is live, or the bus was connected to once more.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        try:
            await self._write(db, checkpoint)
        except NotTheWriter:
            if (await read_checkpoint(db, self.name)).table_set == checkpoint.table_set:
                raise
            _log.info("another table set went live", projection=self.name)

    async def _write(self, db: Connection, checkpoint: Checkpoint) -> None:
        mark = checkpoint.mark
        wishes = await self._redrive(db, checkpoint)
        turn = Turn(db, checkpoint.table_set, self.new_applier(), self.name)
        reader = PullReader(self.bus, self.consumer, idle_s=IDLE_S)
        self.has_read = self.pending == 0
        async with aclosing(reader.read(mark.sequence)) as batches:
            async for batch in batches:
                if self.bus.generation != self.position.generation:
                    return
                if await wishes.is_new(db):
                    return
                self.has_read = True
                self.pending = reader.pending
                for first in range(0, len(batch), BATCH_MESSAGES):
                    mark = await turn.apply(mark, batch[first : first + BATCH_MESSAGES])
                    self.position.advance(mark.sequence)

    async def _redrive(self, db: Connection, checkpoint: Checkpoint) -> _Wishes:
        """Try what waits in quarantine once more, as at each start."""
        wishes = _Wishes(self.name)
        await wishes.is_new(db)
        if self.drain is not None:
            await self.drain(db, checkpoint.table_set, checkpoint.mark)
        await db.execute(_MARK_REDRIVEN, self.name, checkpoint.table_set, wishes.count)
        return wishes

    async def _stand_by(self, db: Connection) -> None:
        """Follow the writer's checkpoint for a moment, closely while somebody waits for it."""
        deadline = asyncio.get_running_loop().time() + STANDBY_IDLE_S
        while asyncio.get_running_loop().time() < deadline:
            if self.bus.generation != self.position.generation:
                await self._check(db)
            checkpoint = await db.fetchrow(_READ_CHECKPOINT, self.name)
            if checkpoint is not None:
                self.position.advance(checkpoint["sequence"])
                self.has_read = True
            await asyncio.sleep(STANDBY_POLL_S if self.position.is_awaited else STANDBY_IDLE_S / 5)


@dataclass(slots=True)
class _Wishes:
    """How often an operator asked to try the quarantine again; looked at once in a while."""

    projection: str
    count: int = 0
    _next: float = 0.0

    async def is_new(self, db: Connection) -> bool:
        """Tell whether there is one more than at the look before."""
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return False
        self._next = now + WISHES_S
        before = self.count
        row = await db.fetchrow(_READ_REDRIVES, self.projection)
        self.count = before if row is None else row["redrives"]
        return self.count != before


@dataclass(frozen=True, slots=True)
class Turn:
    """One writer's way into one table set; a row that the database refuses stops nobody else."""

    db: Connection
    table_set: int
    applier: Applier
    projection: str

    async def apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        """Store messages and return the mark behind them; one that is refused is quarantined.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        first = 0
        for place in range(len(messages)) if is_doubtful(messages) else ():
            alone = messages[place : place + 1]
            if is_doubtful(alone):
                mark = await self._apply(mark, messages[first:place])
                mark = await self._apply(mark, alone)
                first = place + 1
        return await self._apply(mark, messages[first:])

    def moved(self) -> NotTheWriter:
        """Return what ends a writer that found the checkpoint elsewhere."""
        message = f"another process moved the checkpoint of {self.projection}"
        return NotTheWriter(message)

    async def _apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        if not messages:
            return mark
        try:
            return await self._store(mark, messages)
        except REFUSED as error:
            if len(messages) == 1:
                _log.error(
                    "the database refuses an event's row; it waits in quarantine",
                    projection=self.projection,
                    sequence=messages[0].sequence,
                    kind=type(error).__name__,
                )
                return await self._store(mark, messages, is_refused=True)
        middle = len(messages) // 2
        return await self._apply(await self._apply(mark, messages[:middle]), messages[middle:])

    async def _store(
        self, mark: Mark, messages: Sequence[Stored], *, is_refused: bool = False
    ) -> Mark:
        refused = [message.sequence for message in messages] if is_refused else ()
        moved = await self.applier.apply(self.db, self.table_set, mark, messages, refused=refused)
        if moved is None:
            raise self.moved()
        return moved


async def read_checkpoint(db: Connection, projection: str) -> Checkpoint:
    """Return the live checkpoint of a projection.

    Raises:
        Unavailable: there is none yet.
    """
    row = await db.fetchrow(_READ_CHECKPOINT, projection)
    if row is None:
        message = f"the projection {projection} has not been started"
        raise Unavailable(message, code="projection_missing")
    mark = Mark(row["sequence"], row["digest"], row["anchor_sequence"], row["anchor_sha256"])
    return Checkpoint(row["table_set"], row["stream_created"], mark)
