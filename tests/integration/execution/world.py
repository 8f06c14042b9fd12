"""The other services around execution, played over the bus: admits, gathers, asks, looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import asyncpg

from chancery.bus.connection import Connection
from chancery.bus.load import read_subject
from chancery.bus.publish import publish
from chancery.bus.request import ask
from chancery.events import authority
from chancery.events.codec import decode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.index import ResourceKind
from chancery.events.queries import PinnedRevision
from chancery.events.requests import Caller, Message, Request
from chancery.events.run import (
    ActivityRecorded,
    Bounds,
    GatheredMeasure,
    GatheredPassage,
    RunAdmitted,
    RunGathered,
    RunProposed,
)
from chancery.events.topology import RUNS, query_subject, run_subject
from chancery.evidence.manifest import DatasetManifest, build_manifest
from chancery.evidence.scope import RowFilters, ScopeEntry, build_scope
from chancery.indexing.domain.cards import build_cards
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id
from chancery.store.blobs import Blobs
from chancery.tabular.schema import TableSchema
from chancery.tabular.snapshot import convert_csv
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually

TENANT = "acme"
TOTAL = authority.Measure(
    name="total_invoiced",
    aggregate="sum",
    column="amount",
    description="total invoiced amount of all orders",
)
HIGHEST = authority.Measure(
    name="highest_discount",
    aggregate="max",
    column="discount",
    description="highest discount that was granted",
)
ORDERS = b"id,region,amount,discount\n1,north,1250,5\n2,south,2750,20\n"

_ReplyT = TypeVar("_ReplyT", bound=Message)


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it was admitted."""

    data: RunAdmitted
    event: Event


@dataclass(frozen=True, slots=True)
class World:
    """Everything around one running execution service."""

    bus: Connection
    blobs: Blobs
    database: Database

    async def document(self, key: str, text: str) -> ScopeEntry:
        """Store a document as indexing does and return its place in a scope."""
        sha256 = await self.blobs.put(TENANT, text.encode())
        manifest = build_manifest(key, 1, content_sha256=sha256, extractor="text/1", text=text)
        return _entry("source", key, sha256, await self.blobs.put(TENANT, manifest.to_bytes()))

    async def dataset(
        self,
        *measures: authority.Measure,
        hidden: Sequence[str] = (),
        filters: RowFilters = (),
    ) -> ScopeEntry:
        """Store the dataset `orders` as indexing does, with what the caller may not see of it."""
        snapshot = convert_csv(ORDERS, {})
        parquet = await self.blobs.put(TENANT, snapshot.parquet)
        manifest = DatasetManifest(
            key="orders-key",
            snapshot=1,
            content_sha256=sha256_hex(ORDERS),
            extraction_sha256=parquet,
            extractor="csv/1",
            rows=2,
            columns=tuple((column.name, column.duckdb_type) for column in snapshot.columns),
            cards=build_cards(TableSchema("orders", snapshot.columns), measures),
        )
        manifest_sha256 = await self.blobs.put(TENANT, manifest.to_bytes())
        entry = _entry("dataset", "orders-key", parquet, manifest_sha256)
        restricted = {"hidden_columns": tuple(hidden), "row_filters": filters}
        return entry.model_copy(update={"id": "orders", **restricted})

    async def admitted(self, question: str, *entries: ScopeEntry, publish_it: bool = True) -> Run:
        """Admit a run over `entries`."""
        run_id, now = random_id(), SystemClock().now()
        scope = build_scope(entries).to_bytes()
        data = RunAdmitted(
            run_id=run_id,
            generation=1,
            lease="lease-1",
            workspace_id="w",
            principal="ada",
            question_sha256=await self.blobs.put_run(TENANT, run_id, question.encode()),
            scope_sha256=await self.blobs.put_run(TENANT, run_id, scope),
            policy_revision="0",
            language="en",
            mode="auto",
            bounds=Bounds(),
            deadline=now + timedelta(seconds=600),
            barrier=1,
            index_sequence=1,
        )
        run = Run(data, event_of(data, run_id))
        if publish_it:
            await self.publish(run.event, "admitted")
        return run

    async def gathered(
        self,
        run: Run,
        *passages: GatheredPassage,
        measures: Sequence[GatheredMeasure] = (),
        lease: str = "lease-1",
    ) -> Event:
        """Say what retrieval found for a run."""
        data = RunGathered(
            run_id=run.data.run_id,
            generation=1,
            lease=lease,
            passages=passages,
            measures=tuple(measures),
            index_position=1,
        )
        event = event_of(data, run.data.run_id)
        await self.publish(event, "gathered")
        return event

    async def publish(self, event: Event, name: str) -> None:
        """Append an event of a run."""
        await publish(self.bus, run_subject(TENANT, event.envelope.subject, name), event)

    async def proposals(self, run: Run) -> list[RunProposed]:
        """Return what was proposed for the run so far."""
        found = await self._events(run, "proposed")
        return [each for each in found if isinstance(each, RunProposed)]

    async def activities(self, run: Run) -> list[ActivityRecorded]:
        """Return what execution said it did for the run so far."""
        found = await self._events(run, "activity")
        return [each for each in found if isinstance(each, ActivityRecorded)]

    async def proposed(self, run: Run) -> RunProposed:
        """Wait for the run's proposal."""
        found = await eventually(lambda: self.proposals(run), within_s=60)
        return found[0]

    async def parked(self) -> dict[str, str]:
        """Return the reason of each parked message by its subject."""
        owner = await asyncpg.connect(self.database.superuser_dsn)
        rows = await owner.fetch("SELECT subject, reason FROM execution.parked")
        await owner.close()
        return {str(row["subject"]): str(row["reason"]) for row in rows}

    async def ask(self, name: str, body: Message, reply: type[_ReplyT]) -> _ReplyT:
        """Ask execution as the gateway does."""
        request = Request(
            caller=Caller(tenant=TENANT, principal="ada", credential_id="c", proof="a" * 64),
            route=f"POST {name}",
            idempotency_key=random_id(),
            request_sha256="b" * 64,
            body=body,
        )
        return await ask(self.bus, query_subject("execution", name), request, reply)

    async def _events(self, run: Run, name: str) -> list[EventData]:
        subject = run_subject(TENANT, run.data.run_id, name)
        return [decode(each.payload).data async for each in read_subject(self.bus, RUNS, subject)]


def event_of(data: EventData, run_id: str) -> Event:
    """Return an event of a run with a fresh id."""
    envelope = Envelope(
        id=random_id(),
        source="/chancery/tests",
        type=data.TYPE,
        subject=run_id,
        time=SystemClock().now(),
        tenant=TENANT,
    )
    return Event(envelope=envelope, data=data)


def passage(entry: ScopeEntry, text: str) -> GatheredPassage:
    """Return a short document as one gathered passage."""
    assert entry.extraction_sha256 is not None
    manifest = build_manifest(
        entry.key, 1, content_sha256=entry.content_sha256, extractor="text/1", text=text
    )
    part = manifest.parts[0]
    return GatheredPassage(
        key=entry.key,
        revision=1,
        part_id=part.part_id,
        start=part.start,
        end=part.end,
        extraction_sha256=entry.extraction_sha256,
    )


def measure(entry: ScopeEntry, name: str) -> GatheredMeasure:
    """Return a measure of a dataset as it is gathered."""
    assert entry.manifest_sha256 is not None
    return GatheredMeasure(
        key=entry.key, snapshot=1, name=name, manifest_sha256=entry.manifest_sha256
    )


def pinned(entry: ScopeEntry) -> PinnedRevision:
    """Return the dataset as release authorises it for a query."""
    return PinnedRevision(
        kind=entry.kind,
        key=entry.key,
        id=entry.id,
        title=entry.title,
        revision=entry.revision,
        content_sha256=entry.content_sha256,
        media_type=entry.media_type,
        size_bytes=1,
        state=entry.state,
        extraction_sha256=entry.extraction_sha256,
        manifest_sha256=entry.manifest_sha256,
        hidden_columns=entry.hidden_columns,
        row_filters=entry.row_filters,
    )


def _entry(
    kind: ResourceKind, key: str, extraction_sha256: str, manifest_sha256: str
) -> ScopeEntry:
    return ScopeEntry(
        kind=kind,
        key=key,
        id=key,
        title="Title",
        revision=1,
        content_sha256=extraction_sha256 if kind == "source" else sha256_hex(ORDERS),
        media_type="text/plain" if kind == "source" else "text/csv",
        extraction_sha256=extraction_sha256,
        manifest_sha256=manifest_sha256,
        state="ready",
        index_sequence=1,
    )
