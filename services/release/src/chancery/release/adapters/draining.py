"""Drains frozen aggregates when a build can: the whole queue in order, or nothing of it."""

from __future__ import annotations

from chancery.events.topology import authority_subject
from chancery.release.adapters.authority_rows import row_of, state_text
from chancery.release.adapters.refusals import REFUSED
from chancery.release.domain.authority_fold import AggregateKey, AggregateRow, Quarantined, drain
from chancery.release.domain.marks import Mark
from chancery.runtime.logging import get_logger
from chancery.store.pool import Connection
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_FROZEN = _QUERIES["read_frozen"]
_READ_QUEUE = _QUERIES["read_queue"]
_THAW = _QUERIES["thaw"]

FROZEN_MAX = 10_000

_log = get_logger("chancery.release")


async def drain_frozen(db: Connection, table_set: int, mark: Mark) -> int:
    """Thaw every aggregate whose queue this build can fold; return how many.

    Only the writer of the projection may call it, before it follows the log; an aggregate whose
    queue cannot be folded, or whose row the database refuses, stays frozen with all of its queue.
    """
    thawed = 0
    for found in await db.fetch(_READ_FROZEN, table_set, FROZEN_MAX):
        key, row = row_of(found)
        thawed += await _thaw(db, table_set, mark, key, row=row)
    if thawed:
        _log.info("frozen aggregates were drained", count=thawed)
    return thawed


async def _thaw(
    db: Connection, table_set: int, mark: Mark, key: AggregateKey, *, row: AggregateRow
) -> bool:
    subject = authority_subject(key.tenant, key.kind, key.id)
    queue = [
        Quarantined(key.tenant, each["sequence"], each["subject"], "", each["payload"])
        for each in await db.fetch(_READ_QUEUE, key.tenant, table_set, subject)
    ]
    drained = drain(key, row, queue) if queue else None
    if drained is None:
        return False
    try:
        status = await db.execute(
            _THAW,
            table_set,
            mark.sequence,
            mark.digest,
            key.tenant,
            key.kind,
            key.id,
            subject,
            drained.workspace_id,
            drained.serving,
            drained.published,
            drained.sequence,
            drained.event_type,
            drained.event_id,
            drained.payload_sha256,
            state_text(key.kind, drained.state),
        )
    except REFUSED:
        return False
    return status.endswith(" 1")
