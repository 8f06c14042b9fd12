"""Authority events to rows of `release.aggregate`: one statement for rows and checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from chancery.authority.states import State, from_json, to_json_text
from chancery.bus.load import Stored
from chancery.release.adapters.known_rows import KnownRows
from chancery.release.domain.authority_fold import (
    AggregateKey,
    AggregateRow,
    Quarantined,
    SeenCut,
    fold,
    touched,
)
from chancery.release.domain.marks import Mark
from chancery.store.pool import Connection
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_ROWS = _QUERIES["read_rows"]
_APPLY = _QUERIES["apply_authority"]


@dataclass(frozen=True, slots=True)
class Change:
    """What one statement stores; rows stand in the order of their keys."""

    before: Mark
    after: Mark
    rows: Sequence[tuple[AggregateKey, AggregateRow]]
    quarantined: Sequence[Quarantined]
    cuts: Sequence[SeenCut]


@dataclass(slots=True)
class AuthorityApplier:
    """Remembers the rows it wrote last: only one writer moves the checkpoint.

    One that began at the beginning of the log and has forgotten nothing needs to read no row.
    """

    known: KnownRows = field(default_factory=KnownRows)

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
        await self.recall(connection, table_set, self.misses(mark, messages))
        folded = fold(mark, self.known.rows, messages, refused=refused)
        self.known.keep(folded.rows)
        change = Change(mark, folded.mark, in_order(folded.rows), folded.quarantined, folded.cuts)
        moved = False
        try:
            moved = await self.store(connection, table_set, self.written(change))
        finally:
            if not moved:
                self.known.forget()
        self.known.make_room()
        return change.after if moved else None

    def written(self, change: Change) -> list[object]:
        """Return a change of known rows as `store` takes it."""
        texts = [state_text(key.kind, row.state) for key, row in change.rows]
        for (key, _), text in zip(change.rows, texts, strict=True):
            self.known.weigh(key, 0 if text is None else len(text))
        return _arguments(change, texts)

    async def store(
        self, connection: Connection, table_set: int, written: Sequence[object]
    ) -> bool:
        """Store a change, unless the mark has moved; tell whether it was stored."""
        return bool(await connection.fetchval(_APPLY, table_set, *written))

    def misses(
        self, mark: Mark, messages: Sequence[Stored], changed: Collection[AggregateKey] = ()
    ) -> list[AggregateKey]:
        """Return the aggregates whose rows have to be read before messages can be folded.

        Those that are `changed` are at hand.
        """
        if mark.sequence == 0:
            self.known.is_all = True
        if self.known.is_all:
            return []
        rows = self.known.rows
        return sorted(key for key in touched(messages) if key not in rows and key not in changed)

    async def recall(
        self, connection: Connection, table_set: int, missing: Sequence[AggregateKey]
    ) -> None:
        """Read rows into memory."""
        if missing:
            rows = await connection.fetch(
                _READ_ROWS,
                table_set,
                [key.tenant for key in missing],
                [key.kind for key in missing],
                [key.id for key in missing],
            )
            self.known.keep(dict(map(row_of, rows)))


def in_order(
    rows: Mapping[AggregateKey, AggregateRow],
) -> list[tuple[AggregateKey, AggregateRow]]:
    """Return rows in the order of their keys, as the index of the table has them."""
    return sorted(rows.items(), key=_key_of)


def _key_of(item: tuple[AggregateKey, AggregateRow]) -> AggregateKey:
    return item[0]


def _arguments(change: Change, texts: Sequence[str | None]) -> list[object]:
    keys = [key for key, _ in change.rows]
    rows = [row for _, row in change.rows]
    return [
        change.before.sequence,
        change.before.digest,
        *mark_arguments(change.after),
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
        *quarantine_arguments(change.quarantined),
        [cut.tenant for cut in change.cuts],
        [cut.sequence for cut in change.cuts],
        [cut.run_id for cut in change.cuts],
        [cut.generation for cut in change.cuts],
        [cut.attempt for cut in change.cuts],
        [cut.digest for cut in change.cuts],
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
