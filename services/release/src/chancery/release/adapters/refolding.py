"""Index events that this build can fold after all: the history of their resource is folded again.

Folding from the beginning gives what a rebuild would give: the first extraction wins even when it
was the one that waited.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

import asyncpg

from chancery.bus.connection import Connection as Bus
from chancery.bus.load import read_subject
from chancery.events.topology import INDEX
from chancery.release.adapters.index_rows import entry_arguments
from chancery.release.adapters.refusals import REFUSED
from chancery.release.domain.authority_fold import Quarantined
from chancery.release.domain.index_fold import FoldedIndex, decode_index, fold_index
from chancery.release.domain.marks import Mark
from chancery.runtime.logging import get_logger
from chancery.store.pool import Connection
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.release")
_READ_QUARANTINE: Final = _QUERIES["read_index_quarantine"]
_REFOLD: Final = _QUERIES["refold_index"]

EVENTS_MAX: Final = 10_000

_log = get_logger("chancery.release")


async def refold_waiting(bus: Bus, db: Connection, table_set: int, mark: Mark) -> int:
    """Fold what waits in the index quarantine and can be folded now; return how many resources.

    Only the writer of the projection may call it, before it follows the stream. What still cannot
    be folded, or whose row the database refuses, stays where it is.
    """
    refolded = 0
    rows = await db.fetch(_READ_QUARANTINE, table_set, EVENTS_MAX)
    for subject, waiting in groupby(rows, key=_subject_of):
        if any(_is_foldable(row) for row in waiting):
            refolded += await _refold(bus, db, table_set, mark, subject=subject)
    if refolded:
        _log.info("index events left the quarantine", resources=refolded)
    return refolded


async def _refold(bus: Bus, db: Connection, table_set: int, mark: Mark, *, subject: str) -> bool:
    folded = await _history(bus, subject, mark.sequence)
    still = [each.sequence for each in folded.quarantined]
    try:
        stored = await db.fetchval(
            _REFOLD,
            table_set,
            mark.sequence,
            mark.digest,
            subject,
            still,
            *entry_arguments(folded.entries),
        )
    except REFUSED:
        return False
    return bool(stored)


async def _history(bus: Bus, subject: str, last: int) -> FoldedIndex:
    """Return the fold of a resource's events up to `last`, from the beginning."""
    folded = FoldedIndex(Mark())
    async for message in read_subject(bus, INDEX, subject):
        if message.sequence > last:
            break
        turn = fold_index(folded.mark, folded.entries, decode_index([message]))
        folded.mark = turn.mark
        folded.entries |= turn.entries
        folded.quarantined += turn.quarantined
    return folded


def _is_foldable(row: asyncpg.Record) -> bool:
    message = Quarantined(row["tenant"], row["sequence"], row["subject"], "", row["payload"])
    _, key, data = decode_index([message])[0]
    return key is not None and not isinstance(data, str)


def _subject_of(row: asyncpg.Record) -> str:
    return row["subject"]
