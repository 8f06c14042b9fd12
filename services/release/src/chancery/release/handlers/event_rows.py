"""The server-sent events of a run: every content row is a disclosure of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import asyncpg

from chancery.events.queries import EventRow, EventRows, EventsAfter
from chancery.events.requests import Request
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.release.adapters.disclosure import Discloser, Disclosure
from chancery.release.adapters.sealed import unsealed
from chancery.release.handlers.disclosures import withheld_of
from chancery.store.pool import Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_READ_RUN_EVENTS = _QUERIES["read_run_events"]

ROWS_MAX = 200


@dataclass(frozen=True, slots=True)
class RowsOfRun:
    """Handler of the event rows query."""

    pool: Pool
    discloser: Discloser

    async def __call__(self, request: Request[EventsAfter]) -> EventRows:
        """Return the rows behind a place; a place ahead of the run starts from its beginning."""
        found = await self.discloser.look(request.caller, request.body.run_id)
        after = request.body.after if request.body.after <= found.run.events else 0
        with translate_errors():
            records = await self.pool.fetch(
                _READ_RUN_EVENTS, found.run.tenant, found.run.run_id, after, ROWS_MAX
            )
        # What was committed after the decision waits for the next question, and its decision.
        records = [each for each in records if each["number"] <= found.run.events]
        rows = [row for each in records if (row := _row(found, each)) is not None]
        last = records[-1]["number"] if records else after
        ended = not found.run.is_open and last >= found.run.events
        return EventRows(rows=tuple(rows), ended=ended)


def _row(found: Disclosure, record: asyncpg.Record) -> EventRow | None:
    number: int = record["number"]
    if record["release_id"] is None:
        if found.is_withheld and record["event"] == "activity":
            return None
        return EventRow(number=number, event=record["event"], data=_told(found, record))
    assert found.release is not None
    if found.is_withheld:
        notice: Mapping[str, Json] = {**withheld_of(found), "sequence": number}
        return EventRow(number=number, event="withheld", data=_text(notice))
    data = unsealed(found.release, "frame", number, record["ciphertext"])
    return EventRow(number=number, event=record["event"], data=data.decode())


def _told(found: Disclosure, record: asyncpg.Record) -> str:
    body: dict[str, Any] = dict(record["body"])
    body.pop("event_id", None)
    place: Mapping[str, Json] = {
        "run_id": found.run.run_id,
        "generation": record["generation"],
        "sequence": record["number"],
    }
    return _text({**body, **place})


def _text(document: Mapping[str, Json]) -> str:
    return canonical_bytes(document).decode()
