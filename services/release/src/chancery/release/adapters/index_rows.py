"""Index events to rows of `release.index_state`: one statement per batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pydantic import TypeAdapter, ValidationError

from chancery.bus.load import Stored
from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Corrupt
from chancery.release.adapters.authority_rows import mark_arguments, quarantine_arguments
from chancery.release.domain.index_fold import (
    FoldedIndex,
    IndexEntry,
    RevisionKey,
    decode_index,
    fold_index,
)
from chancery.release.domain.marks import Mark
from chancery.store.pool import Connection
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_ENTRIES = _QUERIES["read_entries"]
_APPLY = _QUERIES["apply_index"]

ENTRIES_REMEMBERED: Final = 2048

_ENTRY: Final = TypeAdapter(IndexEntry)


@dataclass(frozen=True, slots=True)
class IndexApplier:
    """Folds index events; remembers nothing."""

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
        decoded = decode_index(messages)
        keys = sorted(
            {
                key
                for message, key, _ in decoded
                if key is not None and message.sequence not in refused
            }
        )
        rows = await connection.fetch(
            _READ_ENTRIES,
            table_set,
            [key.tenant for key in keys],
            [key.kind for key in keys],
            [key.key for key in keys],
            [key.revision for key in keys],
        )
        known = {
            RevisionKey(row["tenant"], row["kind"], row["key"], row["revision"]): parse_entry(
                row["entry"]
            )
            for row in rows
        }
        folded = fold_index(mark, known, decoded, refused=refused)
        moved = await connection.fetchval(_APPLY, table_set, *_arguments(mark, folded))
        return folded.mark if moved else None


def parse_entry(value: object) -> IndexEntry:
    """Return the entry that a row holds.

    Raises:
        Corrupt: with code `malformed_state`.
    """
    try:
        return _ENTRY.validate_python(value)
    except ValidationError as error:
        message = "the stored index entry is malformed"
        raise Corrupt(message, code="malformed_state") from error


@lru_cache(maxsize=ENTRIES_REMEMBERED)
def parse_entry_text(text: str) -> IndexEntry:
    """Return the entry in the text of a row that was just read; the same text, the same entry."""
    return parse_entry(parse_json(text))


def entry_arguments(entries: Mapping[RevisionKey, IndexEntry]) -> list[object]:
    """Return entries as the storing statements take them."""
    keys = sorted(entries)
    found = [entries[key] for key in keys]
    return [
        [key.tenant for key in keys],
        [key.kind for key in keys],
        [key.key for key in keys],
        [key.revision for key in keys],
        [entry.workspace_id for entry in found],
        [entry.state for entry in found],
        [entry.sequence for entry in found],
        [entry.authority_sequence for entry in found],
        [_ENTRY.dump_json(entry).decode() for entry in found],
    ]


def _arguments(before: Mark, folded: FoldedIndex) -> list[object]:
    return [
        before.sequence,
        before.digest,
        *mark_arguments(folded.mark),
        *entry_arguments(folded.entries),
        *quarantine_arguments(folded.quarantined),
    ]
