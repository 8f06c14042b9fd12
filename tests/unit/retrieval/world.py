"""A world for retrieval without servers: an INDEX stream in a list, blobs in a dict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from chancery.bus.load import Stored, StreamState
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionPending,
    RevisionReady,
)
from chancery.events.topology import index_subject
from chancery.evidence.manifest import DatasetManifest, MeasureCard, build_manifest
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import FixedClock
from chancery.kernel.errors import Unavailable
from chancery.retrieval.adapters.checkpoint import FileCheckpoint
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.domain.entries import Pin, RevisionRef
from chancery.retrieval.handlers.following import Following
from chancery.retrieval.handlers.gathering import Gathering
from chancery.retrieval.handlers.loading import Loading
from chancery.runtime.parking import ParkedMessage
from chancery.testkit.blobs import MemoryBlobs
from chancery.testkit.waiting import eventually

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TENANT = "acme"


@dataclass(frozen=True, slots=True)
class Service:
    """One life of the service."""

    world: World
    indexes: TenantIndexes
    following: Following
    gathering: Gathering

    @asynccontextmanager
    async def following_along(self) -> AsyncGenerator[None]:
        """Follow in the background, restarted as the chassis does, until the block ends."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._supervise())
            yield
            task.cancel()
        self.indexes.close()

    async def catch_up(self) -> None:
        """Follow until everything that is on the stream is in the index, then stop."""
        async with self.following_along():
            await eventually(lambda: self.following.position >= len(self.world.stored))

    def found(self, question: str, *pins: Pin, tenant: str = TENANT) -> list[int]:
        """Return the pins of the hits for `question`, best first."""
        numbers = [pin.number for pin in pins]
        hits = self.indexes.within(tenant, numbers).search(question, kind="passage", limit=50)
        return [hit.pin for hit in hits]

    async def failing_run(self) -> str:
        """Follow until something is away, and return what."""
        try:
            await self.following.run()
        except Unavailable as error:
            return error.detail
        return ""

    async def _supervise(self) -> None:
        while True:
            try:
                await self.following.run()
            except Unavailable:
                await _breathe()


@dataclass(frozen=True, slots=True)
class SwitchedBlobs(MemoryBlobs):
    """Blobs that are away while `away` holds something; `read` tells what was asked for."""

    away: set[str] = field(default_factory=set[str])
    read: list[str] = field(default_factory=list[str])

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        if self.away:
            message = "away"
            raise Unavailable(message)
        self.read.append(sha256)
        return self._get(f"{tenant}/{sha256}", sha256, limit)


@dataclass(slots=True)
class World:
    """Everything that survives a restart of the service, and the means to start it."""

    folder: Path
    stored: list[Stored] = field(default_factory=list[Stored])
    blobs: SwitchedBlobs = field(default_factory=SwitchedBlobs)
    parked: list[ParkedMessage] = field(default_factory=list[ParkedMessage])
    gathered: list[Event] = field(default_factory=list[Event])
    created: datetime = NOW
    batch: int = 3

    async def state(self) -> StreamState:
        """Return the stream's state, as the `IndexLog` does."""
        return StreamState(first=1, last=len(self.stored), created=self.created, leader=None)

    async def read(self, after: int) -> AsyncGenerator[list[Stored]]:
        """Yield batches and heartbeats for ever, as the `IndexLog` does."""
        while True:
            batch = self.stored[after : after + self.batch]
            after += len(batch)
            yield batch
            await _breathe()

    async def park(self, message: ParkedMessage) -> None:
        """Keep a parked message, as the `Parking` does."""
        if message not in self.parked:
            self.parked.append(message)

    async def append(self, run_id: str, event: Event) -> None:
        """Keep a gathered event, as the `RunLog` does."""
        assert run_id == event.envelope.subject
        if event.id not in {one.id for one in self.gathered}:
            self.gathered.append(event)

    async def has(self, run_id: str, envelope: Envelope) -> bool:
        """Look for it, as the `RunLog` does."""
        return bool(self.gathered) and self.gathered[-1].id == envelope.id

    def record(self, data: EventData, *, key: str, tenant: str = TENANT) -> None:
        """Append an INDEX event."""
        sequence = len(self.stored) + 1
        envelope = Envelope(
            id=f"e{sequence}",
            source="chancery/indexing",
            type=data.TYPE,
            subject=key,
            time=NOW,
            tenant=tenant,
        )
        payload = encode(Event(envelope=envelope, data=data))
        subject = index_subject(tenant, "source", key)
        self.stored.append(Stored(sequence, subject, payload, NOW, envelope.id))

    async def document(
        self, key: str, text: str, *, revision: int = 1, tenant: str = TENANT
    ) -> Pin:
        """Store a document's blobs, announce it as ready and return its pin."""
        content = sha256_hex(text.encode())
        manifest = build_manifest(
            key, revision, content_sha256=content, extractor="text/1", text=text
        )
        await self.blobs.put(tenant, text.encode())
        await self.blobs.put(tenant, manifest.to_bytes())
        pin = Pin(RevisionRef("source", key, revision), content, manifest.sha256)
        return self.announce(pin, tenant=tenant)

    async def dataset(self, key: str, *cards: MeasureCard) -> Pin:
        """Store a snapshot's manifest, announce it as ready and return its pin."""
        manifest = DatasetManifest(
            key=key,
            snapshot=1,
            content_sha256="1" * 64,
            extraction_sha256="2" * 64,
            extractor="csv/1",
            rows=1,
            columns=(("amount", "DECIMAL(18,2)"),),
            cards=cards,
        )
        await self.blobs.put(TENANT, manifest.to_bytes())
        ref = RevisionRef("dataset", key, 1)
        return self.announce(Pin(ref, manifest.extraction_sha256, manifest.sha256))

    def exclude(self, pin: Pin) -> None:
        """Announce that the revision no longer serves."""
        ref = pin.ref
        data = RevisionExcluded(
            workspace_id="w",
            kind=ref.kind,
            key=ref.key,
            revision=ref.revision,
            content_sha256="1" * 64,
            authority_sequence=len(self.stored) + 1,
            reason="withdrawn",
        )
        self.record(data, key=ref.key)

    def pend(self, pin: Pin) -> None:
        """Announce that the revision is pending again."""
        ref = pin.ref
        data = RevisionPending(
            workspace_id="w",
            kind=ref.kind,
            key=ref.key,
            revision=ref.revision,
            content_sha256="1" * 64,
            authority_sequence=len(self.stored) + 1,
        )
        self.record(data, key=ref.key)

    def poison(self, payload: bytes = b"{") -> None:
        """Append bytes that are no event."""
        sequence = len(self.stored) + 1
        subject = index_subject(TENANT, "source", "poison")
        self.stored.append(Stored(sequence, subject, payload, NOW, f"e{sequence}"))

    def start(self, opened: TenantIndexes | None = None) -> Service:
        """Start the service anew over what is on disk, or what is opened of it."""
        indexes = opened or TenantIndexes.open(self.folder / "index")
        checkpoint = FileCheckpoint(self.folder / "index" / "checkpoint.json")
        following = Following(self, indexes, checkpoint, Loading(self.blobs), self)
        gathering = Gathering(following, self, self.blobs, FixedClock(NOW))
        return Service(self, indexes, following, gathering)

    def announce(self, pin: Pin, *, tenant: str = TENANT, as_of: int | None = None) -> Pin:
        """Announce that a pin is ready, as of the newest or an older place of the log."""
        data = RevisionReady(
            workspace_id="w",
            kind=pin.ref.kind,
            key=pin.ref.key,
            revision=pin.ref.revision,
            content_sha256="1" * 64,
            authority_sequence=as_of or len(self.stored) + 1,
            extraction_sha256=pin.extraction_sha256,
            manifest_sha256=pin.manifest_sha256,
        )
        self.record(data, key=pin.ref.key, tenant=tenant)
        return pin


async def _breathe() -> None:
    """Let the others run for a moment."""
    try:
        async with asyncio.timeout(0.005):
            await asyncio.Event().wait()
    except TimeoutError:
        return
