"""The streams, read for an examination, and the projections folded again from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import asyncpg
from pydantic import SecretStr

from chancery.bus.connection import Connection as Bus
from chancery.bus.load import Stored, StreamState, last_sequence, message_at, read_subject
from chancery.bus.reader import PullReader
from chancery.kernel.errors import Conflict, Corrupt, Unavailable
from chancery.release.adapters.authority_rows import row_of
from chancery.release.adapters.index_rows import parse_entry
from chancery.release.adapters.projector import read_checkpoint
from chancery.release.adapters.table_sets import Rebuild
from chancery.release.domain.authority_fold import (
    NOT_STORABLE,
    AggregateKey,
    AggregateRow,
    fold,
)
from chancery.release.domain.index_fold import IndexEntry, RevisionKey, decode_index, fold_index
from chancery.release.domain.marks import Mark
from chancery.release.ports.fsck import Difference, Told
from chancery.release.ports.table_sets import ProjectionName
from chancery.store.pool import Connection, PoolLimits, connect, translate_errors
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.release")

LIMITS: Final = PoolLimits(statement_timeout_s=3600.0)
NAME: Final = "chancery-fsck"
IDLE_S: Final = 0.2
BATCH_MESSAGES: Final = 500

_Key = TypeVar("_Key")
_Row = TypeVar("_Row")

_Fold = Callable[[Mark, dict[_Key, _Row], Sequence[Stored], frozenset[int]], Mark]
"""Folds messages into the rows and returns the mark behind them."""


@dataclass(frozen=True, slots=True)
class StreamLogs:
    """Reads of the streams that release may read."""

    bus: Bus

    async def state(self, stream: str) -> StreamState:
        """Return where a stream begins and ends."""
        return await last_sequence(self.bus, stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return a message."""
        return await message_at(self.bus, stream, sequence)

    def subject(self, stream: str, subject: str, after: int = 0) -> AsyncIterator[Stored]:
        """Yield the messages on a subject with a sequence above `after`, in order."""
        return read_subject(self.bus, stream, subject, after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refold(Generic[_Key, _Row]):
    """Folds a stream from its beginning to the checkpoint, in memory, beside the live projection.

    It reads with the consumer of rebuilds, so that one of the two runs at a time.
    """

    rebuild: Rebuild
    dsn: SecretStr
    rows_statement: str
    refused_statement: str
    parse: Callable[[asyncpg.Record], tuple[_Key, _Row | None]]
    fold: _Fold[_Key, _Row]
    difference: Callable[[_Key], Difference]

    @property
    def name(self) -> ProjectionName:
        """Return which projection."""
        return self.rebuild.name

    async def compare(self, tell: Told) -> tuple[bool, list[Difference]]:
        """Return whether the digest is the same, and the rows that differ.

        Raises:
            Unavailable: a rebuild is running, or bus or database are away.
        """
        try:
            async with self.rebuild.alone():
                return await self._compare(tell)
        except Conflict as error:
            message = f"the {self.name} projection is being rebuilt; examine it afterwards"
            raise Unavailable(message, code=error.code) from error

    async def _compare(self, tell: Told) -> tuple[bool, list[Difference]]:
        dsn = self.dsn.get_secret_value()
        async with (
            connect(dsn, name=NAME, limits=LIMITS) as db,
            db.transaction(isolation="repeatable_read", readonly=True),
        ):
            with translate_errors():
                mark = (await read_checkpoint(db, self.name)).mark
                refused = frozenset(
                    row["sequence"] for row in await db.fetch(self.refused_statement, NOT_STORABLE)
                )
                digest, rows = await self._folded(mark.sequence, refused, tell)
                differing = await self._differing(db, rows)
        return digest == mark.digest, differing

    async def _folded(
        self, last: int, refused: frozenset[int], tell: Told
    ) -> tuple[bytes, dict[_Key, _Row]]:
        mark, rows = Mark(), dict[_Key, _Row]()
        async for batch in self._messages(last):
            mark = self.fold(mark, rows, batch, refused)
            tell(f"{self.name} log", mark.sequence, last)
        return mark.digest, rows

    async def _messages(self, last: int) -> AsyncGenerator[list[Stored]]:
        if last == 0:
            return
        reader = PullReader(self.rebuild.bus, self.rebuild.consumer, BATCH_MESSAGES, IDLE_S)
        async with aclosing(reader.read(0)) as batches:
            async for batch in batches:
                yield [message for message in batch if message.sequence <= last]
                if reader.position >= last or (not batch and reader.pending == 0):
                    return

    async def _differing(self, db: Connection, rows: dict[_Key, _Row]) -> list[Difference]:
        """Return the differences; what was folded is used up."""
        found: list[Difference] = []
        async for record in db.cursor(self.rows_statement, prefetch=BATCH_MESSAGES):
            key, row = self.parse(record)
            folded = rows.pop(key, None)
            if folded is None or folded != row:
                found.append(self.difference(key))
        return found + [self.difference(key) for key in rows]


def authority_refold(rebuild: Rebuild, dsn: SecretStr) -> Refold[AggregateKey, AggregateRow]:
    """Return what folds AUTHORITY again."""
    return Refold(
        rebuild=rebuild,
        dsn=dsn,
        rows_statement=_QUERIES["read_all_aggregates"],
        refused_statement=_QUERIES["read_refused"],
        parse=_row_of,
        fold=_fold_authority,
        difference=lambda key: Difference(key.tenant, key.kind, key.id),
    )


def index_refold(rebuild: Rebuild, dsn: SecretStr) -> Refold[RevisionKey, IndexEntry]:
    """Return what folds INDEX again."""
    return Refold(
        rebuild=rebuild,
        dsn=dsn,
        rows_statement=_QUERIES["read_all_entries"],
        refused_statement=_QUERIES["read_refused_index"],
        parse=_entry_of,
        fold=_fold_index,
        difference=lambda key: Difference(key.tenant, key.kind, f"{key.key}/{key.revision}"),
    )


def _fold_authority(
    mark: Mark,
    rows: dict[AggregateKey, AggregateRow],
    messages: Sequence[Stored],
    refused: frozenset[int],
) -> Mark:
    folded = fold(mark, rows, messages, refused=refused)
    rows.update(folded.rows)
    return folded.mark


def _fold_index(
    mark: Mark,
    rows: dict[RevisionKey, IndexEntry],
    messages: Sequence[Stored],
    refused: frozenset[int],
) -> Mark:
    folded = fold_index(mark, rows, decode_index(messages), refused=refused)
    rows.update(folded.entries)
    return folded.mark


def _row_of(record: asyncpg.Record) -> tuple[AggregateKey, AggregateRow | None]:
    try:
        return row_of(record)
    except Corrupt:
        return AggregateKey(record["tenant"], record["kind"], record["id"]), None


def _entry_of(record: asyncpg.Record) -> tuple[RevisionKey, IndexEntry | None]:
    key = RevisionKey(record["tenant"], record["kind"], record["key"], record["revision"])
    try:
        return key, parse_entry(record["entry"])
    except Corrupt:
        return key, None
