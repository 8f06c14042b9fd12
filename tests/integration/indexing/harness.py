"""A resource's two subjects on a real server, and indexing over them, in or beside this process."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from chancery.bus import provision
from chancery.bus.connection import Connection, connect
from chancery.bus.load import Stored, read_subject
from chancery.bus.publish import publish
from chancery.events import authority
from chancery.events.codec import decode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.topology import (
    AUTHORITY,
    INDEX,
    INDEXING_PUBLICATIONS,
    authority_subject,
    index_subject,
)
from chancery.extract.pool import ExtractionPool
from chancery.indexing.app import Worker, create_worker
from chancery.indexing.domain.history import ResourceRef
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id, resource_key
from chancery.runtime.delivery import Delivery
from chancery.store.blobs import Blobs, open_blobs
from chancery.store.pool import open_pool
from chancery.tabular.pool import WorkerPool
from chancery.testkit.postgres import Database
from tests.integration.forking import fork
from tests.unit.indexing.world import declared_dataset, declared_source, published, short

ACK_WAIT_S = 2
STOP_S = 60


@dataclass(frozen=True, slots=True)
class Log:
    """The writing side of AUTHORITY and the reading side of INDEX, without ingestion."""

    connection: Connection
    blobs: Blobs

    async def declare(self, source_id: str = "handbook") -> ResourceRef:
        """Declare a source of tenant `acme`."""
        ref = ResourceRef("acme", "source", resource_key("w", "source", source_id))
        data = declared_source().model_copy(update={"source_id": source_id})
        await self.record(ref, data)
        return ref

    async def declare_dataset(self, *measures: authority.Measure) -> ResourceRef:
        """Declare the dataset `orders` of tenant `acme`."""
        ref = ResourceRef("acme", "dataset", resource_key("w", "dataset", "orders"))
        await self.record(ref, declared_dataset(*measures))
        return ref

    async def record(self, ref: ResourceRef, data: EventData) -> Event:
        """Append an event to the resource's AUTHORITY subject."""
        envelope = Envelope(
            id=random_id(),
            source="chancery/ingestion",
            type=data.TYPE,
            subject=ref.key,
            time=SystemClock().now(),
            tenant=ref.tenant,
        )
        event = Event(envelope=envelope, data=data)
        await publish(self.connection, _authority(ref), event)
        return event

    async def publish(
        self, ref: ResourceRef, text: bytes, *, revision: int = 1, media_type: str = "text/plain"
    ) -> Event:
        """Store `text` and record its publication."""
        content = await self.blobs.put(ref.tenant, text)
        return await self.record(ref, published(ref, revision, content, media_type, len(text)))

    async def index(self, ref: ResourceRef) -> list[Stored]:
        """Return everything on the resource's INDEX subject."""
        subject = index_subject(ref.tenant, ref.kind, ref.key)
        return [each async for each in read_subject(self.connection, INDEX, subject)]

    async def told(self, ref: ResourceRef) -> list[str]:
        """Return the INDEX subject in short: `ready 1`, `excluded 2 withdrawn`."""
        return [short(decode(each.payload).data) for each in await self.index(ref)]

    async def delivery(self, ref: ResourceRef) -> Delivery:
        """Return a delivery on the resource's AUTHORITY subject."""
        stored = [each async for each in read_subject(self.connection, AUTHORITY, _authority(ref))][
            -1
        ]
        return Delivery(
            stream=AUTHORITY,
            sequence=stored.sequence,
            consumer=INDEXING_PUBLICATIONS,
            subject=stored.subject,
            attempt=1,
            time=stored.time,
            pending=0,
            message_id=stored.message_id,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service finds its servers and its data."""

    nats_url: str
    database: Database
    folder: Path

    @property
    def blobs_url(self) -> str:
        """Return the URL of a blob folder."""
        return (self.folder / "blobs").as_uri()

    def environment(self, service: str) -> Mapping[str, str]:
        """Return the settings of a service's process."""
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "CHANCERY_NATS_URL": self.nats_url,
            "CHANCERY_POSTGRES_DSN": self.database.dsn(service),
            "CHANCERY_BLOBS_URL": self.blobs_url,
            "CHANCERY_DATA_DIR": str(self.folder),
        }


@asynccontextmanager
async def open_log(place: Place) -> AsyncGenerator[Log]:
    """Yield the log on a server with the topology and a short `ack_wait`."""
    async with connect(place.nats_url, name="tests") as connection:
        await provision.apply(connection, provision.Plan(ack_wait_s=ACK_WAIT_S))
        yield Log(connection, open_blobs(place.blobs_url))


@asynccontextmanager
async def open_worker(log: Log, database: Database) -> AsyncGenerator[Worker]:
    """Yield indexing's worker as a process has it, its deliveries made by the test."""
    async with (
        await open_pool(database.dsn("indexing"), name="tests") as pool,
        ExtractionPool() as reader,
        WorkerPool() as converter,
    ):
        yield create_worker(log.connection, pool, log.blobs, reader, converter)


@contextmanager
def running(service: str, place: Place, **settings: str) -> Generator[ForkServerProcess]:
    """Run a service beside this process until the block ends."""
    environment = {**place.environment(service), **settings}
    process = fork(service, environment, place.folder / f"{service}.log")
    try:
        yield process
    finally:
        process.terminate()
        process.join(STOP_S)
        process.kill()
        process.join(STOP_S)


def _authority(ref: ResourceRef) -> str:
    return authority_subject(ref.tenant, ref.kind, ref.key)
