"""The `eventsourcing` library on the same events: `python -m tests.bench.rebuild.library`.

It is measured in two ways. `aggregates` reads each aggregate from its PostgreSQL recorder, with
nothing written. `projection` is what a rebuild is: the events in the order of the log, folded into
rows of PostgreSQL that are committed together with the position, as its tracking recorder does.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresDatastore, PostgresTrackingRecorder
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from tests.bench.rebuild.log import EVENTS_EACH
from tests.bench.rebuild.told import DSN_VARIABLE, Replayed, peak_mb

SAVED_AT_ONCE: Final = 100
READ_AT_ONCE: Final = 1000

_CREATE: Final = "CREATE TABLE bench_view (id uuid PRIMARY KEY, state jsonb NOT NULL)"
_UPSERT: Final = (
    "INSERT INTO bench_view (id, state) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET state = excluded.state"
)


class Compared(BaseModel):
    """Both ways."""

    aggregates: Replayed
    projection: Replayed


class Source(Aggregate):
    """An aggregate with as many events, and as much in them, as one of ours."""

    @event("Declared")
    def __init__(self, *, workspace_id: str, title: str, declarer: str) -> None:
        self.workspace_id = workspace_id
        self.title = title
        self.declarer = declarer
        self.grants: list[str] = []
        self.revisions: list[str] = []

    @event("Granted")
    def grant(self, grantee: str) -> None:
        """Add a grant."""
        self.grants = [*self.grants, grantee]

    @event("Published")
    def publish(self, content_sha256: str, media_type: str, size_bytes: int) -> None:
        """Add a revision."""
        self.revisions = [*self.revisions, f"{content_sha256} {media_type} {size_bytes}"]


class View(PostgresTrackingRecorder):
    """Rows that are committed with the position that they are of."""

    def put(self, number: UUID, state: dict[str, Any], tracking: Tracking) -> None:
        """Store one row and how far the view has come."""
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(_UPSERT, (number, Jsonb(state)), prepare=True)


def main(aggregates: int, projected: int) -> None:
    """Fill the library's own log, then print how long both ways take."""
    environment = _environment(os.environ[DSN_VARIABLE])
    application = Application[UUID](env=environment)
    ids = _fill(application, aggregates)
    compared = Compared(
        aggregates=_aggregates(application, ids),
        projection=_projection(application, environment, projected),
    )
    print(compared.model_dump_json(), flush=True)


def _fill(application: Application[UUID], aggregates: int) -> list[UUID]:
    found: list[UUID] = []
    for first in range(0, aggregates, SAVED_AT_ONCE):
        count = min(SAVED_AT_ONCE, aggregates - first)
        sources = [_source(number) for number in range(first, first + count)]
        application.save(*sources)
        found.extend(source.id for source in sources)
    return found


def _source(number: int) -> Source:
    source = Source(workspace_id="legal", title=f"Handbook, part {number}", declarer="anna")
    for turn in range(1, EVENTS_EACH):
        if turn in {1, 5}:
            source.publish("ab" * 32, "text/plain", 1000 + turn)
        else:
            source.grant(f"r{turn}")
    return source


def _aggregates(application: Application[UUID], ids: list[UUID]) -> Replayed:
    begun = time.perf_counter()
    for number in ids:
        application.repository.get(number)
    seconds = time.perf_counter() - begun
    return Replayed(events=len(ids) * EVENTS_EACH, seconds=seconds, peak_mb=peak_mb())


def _projection(
    application: Application[UUID], environment: dict[str, str], events: int
) -> Replayed:
    datastore = PostgresDatastore(
        environment["POSTGRES_DBNAME"],
        environment["POSTGRES_HOST"],
        environment["POSTGRES_PORT"],
        environment["POSTGRES_USER"],
        environment["POSTGRES_PASSWORD"],
    )
    view = View(datastore)
    view.create_table()
    with datastore.transaction(commit=True) as cursor:
        cursor.execute(_CREATE)
    begun = time.perf_counter()
    done = _project(application, view, events)
    seconds = time.perf_counter() - begun
    datastore.close()
    return Replayed(events=done, seconds=seconds, peak_mb=peak_mb())


def _project(application: Application[UUID], view: View, events: int) -> int:
    states: dict[UUID, Any] = {}
    done = 0
    while done < events:
        limit = min(READ_AT_ONCE, events - done)
        found = application.recorder.select_notifications(done + 1, limit)
        for each in found:
            happened: Any = application.mapper.to_domain_event(each)
            number: UUID = happened.originator_id
            states[number] = happened.mutate(states.get(number))
            view.put(number, _row(states[number]), Tracking("bench", each.id))
        if not found:
            break
        done += len(found)
    return done


def _row(source: Source) -> dict[str, Any]:
    return {
        "workspace_id": source.workspace_id,
        "title": source.title,
        "declarer": source.declarer,
        "grants": source.grants,
        "revisions": source.revisions,
    }


def _environment(dsn: str) -> dict[str, str]:
    parts = urlsplit(dsn)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": parts.path.removeprefix("/"),
        "POSTGRES_HOST": parts.hostname or "",
        "POSTGRES_PORT": str(parts.port),
        "POSTGRES_USER": parts.username or "",
        "POSTGRES_PASSWORD": parts.password or "",
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
