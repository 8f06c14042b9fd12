"""Authority events to rows of `release.aggregate`: one statement per batch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import asyncpg

from chancery.authority.states import State, from_json, to_json_text
from chancery.bus.load import Stored
from chancery.release.domain.authority_fold import (
    AggregateKey,
    AggregateRow,
    Folded,
    Quarantined,
    fold,
    touched,
)
from chancery.release.domain.marks import Mark
from chancery.store.pool import Connection
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_ROWS = _QUERIES["read_rows"]
_APPLY = _QUERIES["apply_authority"]

REMEMBERED_MAX = 60_000
REMEMBERED_CHARACTERS_MAX = 16 * 1024 * 1024
"""States in memory take about six times the room of their text."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A folded batch with its rows as the applying statement takes them."""

    folded: Folded
    arguments: list[object]


@dataclass(slots=True)
class AuthorityApplier:
    """Remembers the rows it wrote last: only one writer moves the checkpoint.

    One that began at the beginning of the log and has forgotten nothing needs to read no row.
    """

    _remembered: OrderedDict[AggregateKey, tuple[AggregateRow, int]] = field(
        default_factory=OrderedDict[AggregateKey, tuple[AggregateRow, int]]
    )
    _characters: int = 0
    _knows_all: bool = False

    async def apply(
        self,
        connection: Connection,
        table_set: int,
        mark: Mark,
        messages: Sequence[Stored],
        *,
        refused: Collection[int] = (),
    ) -> Mark | None:
        """Store the fold of `messages` and the mark behind them; None when the mark had moved."""
        await self.recall(connection, table_set, mark, messages)
        prepared = self.prepare(mark, messages, refused=refused)
        return await self.store(connection, table_set, prepared)

    def misses(self, mark: Mark, messages: Sequence[Stored]) -> list[AggregateKey]:
        """Return the aggregates of a batch whose rows have to be read before it can be folded."""
        if mark.sequence == 0:
            self._knows_all = True
        if self._knows_all:
            return []
        return sorted(key for key in touched(messages) if key not in self._remembered)

    async def recall(
        self, connection: Connection, table_set: int, mark: Mark, messages: Sequence[Stored]
    ) -> None:
        """Read what `prepare` has to know and does not remember."""
        missing = self.misses(mark, messages)
        if missing:
            for key, row in (await self._read(connection, table_set, missing)).items():
                self._remember(key, row, 0)

    def prepare(
        self, mark: Mark, messages: Sequence[Stored], *, refused: Collection[int] = ()
    ) -> Prepared:
        """Fold a batch on what is remembered, and remember the outcome; nothing is stored yet."""
        known = {
            key: self._remembered[key][0] for key in touched(messages) if key in self._remembered
        }
        folded = fold(mark, known, messages, refused=refused)
        keys = sorted(folded.rows)
        texts = [state_text(key.kind, folded.rows[key].state) for key in keys]
        for key, text in zip(keys, texts, strict=True):
            self._remember(key, folded.rows[key], 0 if text is None else len(text))
        self._make_room()
        return Prepared(folded, _arguments(mark, folded, keys, texts))

    async def store(
        self, connection: Connection, table_set: int, prepared: Prepared
    ) -> Mark | None:
        """Store a folded batch and the mark behind it; None when the mark had moved.

        Raises:
            Exception: the database refused a row; like after None, every row is forgotten then.
        """
        moved = False
        try:
            moved = await connection.fetchval(_APPLY, table_set, *prepared.arguments)
        finally:
            if not moved:
                self._forget()
        return prepared.folded.mark if moved else None

    def _forget(self) -> None:
        self._remembered.clear()
        self._characters = 0
        self._knows_all = False

    async def _read(
        self, connection: Connection, table_set: int, missing: Sequence[AggregateKey]
    ) -> dict[AggregateKey, AggregateRow]:
        rows = await connection.fetch(
            _READ_ROWS,
            table_set,
            [key.tenant for key in missing],
            [key.kind for key in missing],
            [key.id for key in missing],
        )
        return dict(map(row_of, rows))

    def _remember(self, key: AggregateKey, row: AggregateRow, characters: int) -> None:
        _, before = self._remembered.pop(key, (None, 0))
        self._remembered[key] = row, characters
        self._characters += characters - before

    def _make_room(self) -> None:
        while (
            len(self._remembered) > REMEMBERED_MAX or self._characters > REMEMBERED_CHARACTERS_MAX
        ):
            _, (_, characters) = self._remembered.popitem(last=False)
            self._characters -= characters
            self._knows_all = False


def _arguments(
    before: Mark, folded: Folded, keys: Sequence[AggregateKey], texts: Sequence[str | None]
) -> list[object]:
    rows = [folded.rows[key] for key in keys]
    return [
        before.sequence,
        before.digest,
        *mark_arguments(folded.mark),
        [key.tenant for key in keys],
        [key.kind for key in keys],
        [key.id for key in keys],
        [row.workspace_id for row in rows],
        [row.serving for row in rows],
        [row.published for row in rows],
        [row.sequence for row in rows],
        [row.frozen for row in rows],
        [row.event_type for row in rows],
        [row.event_id for row in rows],
        [row.payload_sha256 for row in rows],
        list(texts),
        *quarantine_arguments(folded.quarantined),
        [cut.tenant for cut in folded.cuts],
        [cut.sequence for cut in folded.cuts],
        [cut.run_id for cut in folded.cuts],
        [cut.generation for cut in folded.cuts],
        [cut.attempt for cut in folded.cuts],
        [cut.digest for cut in folded.cuts],
    ]


def mark_arguments(mark: Mark) -> list[object]:
    """Return a mark as the applying statements take it."""
    return [mark.sequence, mark.digest, mark.anchor_sequence, mark.anchor_sha256]


def quarantine_arguments(quarantined: Sequence[Quarantined]) -> list[object]:
    """Return quarantined messages as the applying statements take them."""
    return [
        [each.tenant for each in quarantined],
        [each.sequence for each in quarantined],
        [each.subject for each in quarantined],
        [each.reason for each in quarantined],
        [each.payload for each in quarantined],
    ]


def row_of(row: asyncpg.Record) -> tuple[AggregateKey, AggregateRow]:
    """Return an aggregate as its row holds it."""
    key = AggregateKey(row["tenant"], row["kind"], row["id"])
    return key, AggregateRow(
        sequence=row["sequence"],
        event_type=row["event_type"],
        event_id=row["event_id"],
        payload_sha256=row["payload_sha256"],
        state=None if row["state"] is None else from_json(key.kind, row["state"]),
        frozen=row["frozen"],
        published=row["published"],
    )


def state_text(kind: str, state: State | None) -> str | None:
    """Return a state as its row holds it; jsonb has a layout of its own."""
    return None if state is None else to_json_text(kind, state)
