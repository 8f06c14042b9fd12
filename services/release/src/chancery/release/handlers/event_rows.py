"""The server-sent events of a run: every content row is a disclosure of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from chancery.events.queries import EventRow, EventRows, EventsAfter
from chancery.events.requests import Request
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.release.domain.releases import unsealed
from chancery.release.domain.runs import EventRecord
from chancery.release.handlers.disclosing import Discloser, Disclosure
from chancery.release.handlers.disclosures import withheld_of
from chancery.release.ports.stores import RunStore

ROWS_MAX = 200


@dataclass(frozen=True, slots=True)
class RowsOfRun:
    """Handler of the event rows query."""

    runs: RunStore
    discloser: Discloser

    async def __call__(self, request: Request[EventsAfter]) -> EventRows:
        """Return the rows behind a place; a place ahead of the run starts from its beginning."""
        caller, after = request.caller, request.body.after
        # Rows and run are of one moment before the decision; later rows wait for the next one.
        passed, told = await asyncio.gather(
            self.discloser.gate.barrier.pass_through(),
            self.runs.read_told(caller.tenant, request.body.run_id, after, ROWS_MAX),
        )
        found = await self.discloser.decide(caller, None if told is None else told.run, passed)
        records = () if told is None else told.records
        rows = [row for each in records if (row := _row(found, each)) is not None]
        last = records[-1].number if records else after
        ended = not found.run.is_open and last >= found.run.events
        return EventRows(rows=tuple(rows), ended=ended)


def _row(found: Disclosure, record: EventRecord) -> EventRow | None:
    if record.body is not None:
        if found.is_withheld and record.event == "activity":
            return None
        return EventRow(number=record.number, event=record.event, data=_told(found, record))
    assert found.release is not None
    assert record.ciphertext is not None
    if found.is_withheld:
        notice: Mapping[str, Json] = {**withheld_of(found), "sequence": record.number}
        return EventRow(number=record.number, event="withheld", data=_text(notice))
    data = unsealed(found.release, "frame", record.number, record.ciphertext)
    return EventRow(number=record.number, event=record.event, data=data.decode())


def _told(found: Disclosure, record: EventRecord) -> str:
    assert record.body is not None
    told = {name: value for name, value in record.body.items() if name != "event_id"}
    place: Mapping[str, Json] = {
        "run_id": found.run.run_id,
        "generation": record.generation,
        "sequence": record.number,
    }
    return _text({**told, **place})


def _text(document: Mapping[str, Json]) -> str:
    return canonical_bytes(document).decode()
