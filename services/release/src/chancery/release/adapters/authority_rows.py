"""Authority events to rows of `release.aggregate`: one statement per batch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import asyncpg

from chancery.authority.states import State, from_json, to_json
from chancery.bus.load import Stored
from chancery.kernel.canonical import canonical_bytes
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

REMEMBERED_MAX = 5_000


@dataclass(slots=True)
class AuthorityApplier:
    """Remembers the rows it wrote last: only one writer moves the checkpoint."""

    _remembered: OrderedDict[AggregateKey, AggregateRow] = field(
        default_factory=OrderedDict[AggregateKey, AggregateRow]
    )

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
        known = await self._rows(connection, table_set, touched(messages))
        folded = fold(mark, known, messages, refused=refused)
        if not await connection.fetchval(_APPLY, table_set, *_arguments(mark, folded)):
            return None
        self._remember(folded.rows)
        return folded.mark

    async def _rows(
        self, connection: Connection, table_set: int, keys: Iterable[AggregateKey]
    ) -> dict[AggregateKey, AggregateRow]:
        wanted = sorted(keys)
        known = {key: self._remembered[key] for key in wanted if key in self._remembered}
        missing = [key for key in wanted if key not in known]
        if missing:
            rows = await connection.fetch(
                _READ_ROWS,
                table_set,
                [key.tenant for key in missing],
                [key.kind for key in missing],
                [key.id for key in missing],
            )
            known |= dict(map(row_of, rows))
        return known

    def _remember(self, rows: Mapping[AggregateKey, AggregateRow]) -> None:
        for key, row in rows.items():
            self._remembered[key] = row
            self._remembered.move_to_end(key)
        while len(self._remembered) > REMEMBERED_MAX:
            self._remembered.popitem(last=False)


def _arguments(before: Mark, folded: Folded) -> list[object]:
    keys = sorted(folded.rows)
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
        [state_text(row.state) for row in rows],
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


def state_text(state: State | None) -> str | None:
    """Return a state as its row holds it."""
    return None if state is None else canonical_bytes(to_json(state)).decode()
