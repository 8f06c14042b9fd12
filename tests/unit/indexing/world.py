"""A world for indexing without servers: logs in lists, a ledger in a dict, crashes where told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime

from chancery.authority.evolve import evolve
from chancery.authority.states import DatasetState, SourceState
from chancery.events import authority
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.index import (
    RevisionExcluded,
    RevisionExtracted,
    RevisionFailed,
    RevisionPending,
    RevisionReady,
    RevisionUnavailable,
)
from chancery.extract.extraction import Extraction as ReadDocument
from chancery.extract.extraction import extract
from chancery.extract.refusals import TakesLong
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.errors import LogMoved
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.fairly import Fairly
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.progress import Announcer
from chancery.indexing.handlers.publications import Publications
from chancery.indexing.handlers.slowly import Slowly
from chancery.indexing.ports import Entry
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import FixedClock
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import resource_key
from chancery.store.blobs import Blobs
from chancery.tabular.formats import format_of
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import Snapshot, convert_csv, convert_xlsx
from chancery.testkit.blobs import MemoryBlobs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = ResourceRef("acme", "source", resource_key("w", "source", "handbook"))
DATASET = ResourceRef("acme", "dataset", resource_key("w", "dataset", "orders"))

_NAMES: Mapping[type[EventData], str] = {
    RevisionPending: "pending",
    RevisionExtracted: "extracted",
    RevisionReady: "ready",
    RevisionFailed: "failed",
    RevisionExcluded: "excluded",
    RevisionUnavailable: "unavailable",
}


class Crashed(Unavailable):
    """The process died here, or the acknowledgement was lost."""


SLOW = b"slow "


@dataclass(slots=True)
class World:
    """One resource; `crashes` are the numbers of the steps at which the process dies."""

    ref: ResourceRef = SOURCE
    authority: list[tuple[int, EventData]] = field(default_factory=list[tuple[int, EventData]])
    index: list[tuple[int, Event]] = field(default_factory=list[tuple[int, Event]])
    pages: dict[ResourceRef, Page] = field(default_factory=dict[ResourceRef, Page])
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    crashes: frozenset[int] = frozenset()
    steps: int = 0
    conversions: int = 0
    while_reading: Callable[[], object] | None = None
    slow: list[SlowRevision] = field(default_factory=list[SlowRevision])
    read: Callable[[str, bytes], ReadDocument] = extract
    reads: int = 0
    turns: Fairly = field(default_factory=Fairly)

    @property
    def publications(self) -> Publications:
        """Return the handler over this world."""
        announcer = Announcer(
            MemoryLedger(self), MemoryAuthority(self), MemoryIndex(self), FixedClock(NOW)
        )
        announcements = Announcements(announcer)
        slowly = Slowly(MemorySlowQueue(self), announcements, self.extraction)
        return Publications(announcements, self.extraction, slowly)

    @property
    def extraction(self) -> Extraction:
        """Return the extraction over this world."""
        reader, converter = PlainReader(self), CountingConverter(self)
        return Extraction(WatchedBlobs(self), reader, converter, conversions=self.turns)

    def record(self, data: EventData) -> Event:
        """Append an event to the resource's AUTHORITY subject and return it."""
        sequence = 10 * (len(self.authority) + 1)
        self.authority.append((sequence, data))
        return authority_event(self.ref, sequence, data)

    def event(self, place: int) -> Event:
        """Return the event at `place` of the subject, to deliver it (again)."""
        return authority_event(self.ref, *self.authority[place])

    async def publish(self, text: bytes, *, media_type: str = "text/plain") -> Event:
        """Store `text` and record its publication as the next revision."""
        revision = 1 + sum(
            isinstance(data, authority.RevisionPublished | authority.SnapshotPublished)
            for _, data in self.authority
        )
        content = await self.blobs.put(self.ref.tenant, text)
        return self.record(published(self.ref, revision, content, media_type, len(text)))

    async def handle(self, *events: Event) -> None:
        """Deliver events one after the other."""
        for event in events:
            await self.publications.handle(self.ref, event)

    def step(self) -> None:
        """Count a step, and die if this is where to."""
        self.steps += 1
        if self.steps in self.crashes:
            message = "the process died"
            raise Crashed(message)

    def told(self) -> list[str]:
        """Return the INDEX subject in short: `ready 1`, `excluded 2 withdrawn`."""
        return [short(event.data) for _, event in self.index]

    def serving(self) -> int | None:
        """Return the revision that AUTHORITY says serves."""
        state = None
        for _, data in self.authority:
            state = evolve(self.ref.kind, state, data)
        assert isinstance(state, SourceState | DatasetState)
        return state.serving

    def standings(self) -> dict[int, str]:
        """Return the last state told of each revision, extractions left out."""
        found: dict[int, str] = {}
        for _, event in self.index:
            if not isinstance(event.data, RevisionExtracted):
                found[revision_of(event.data)] = _NAMES[type(event.data)]
        return found

    def last(self, kind: type[EventData]) -> EventData:
        """Return the newest INDEX event of a type."""
        return next(e.data for _, e in reversed(self.index) if isinstance(e.data, kind))


@dataclass(frozen=True, slots=True)
class MemoryAuthority:
    """The `AuthorityLog` over a list."""

    world: World

    async def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        self.world.step()
        for sequence, data in self.world.authority:
            if sequence > after:
                yield sequence, data


@dataclass(frozen=True, slots=True)
class MemoryIndex:
    """The `IndexLog` over a list: expectations hold, acknowledgements get lost."""

    world: World

    async def append(self, entries: Sequence[Entry]) -> tuple[int, ...]:
        (entry,) = entries
        world, event = self.world, entry.event
        world.step()
        last = world.index[-1][0] if world.index else 0
        if last != entry.expect_last:
            message = "moved"
            raise LogMoved(message)
        if isinstance(event.data, RevisionReady):
            assert event.data.revision == world.serving(), "a withdrawn revision was revived"
        world.index.append((last + 1, event))
        world.step()
        return (last + 1,)

    async def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        for sequence, event in self.world.index:
            if sequence > after:
                yield sequence, event.data


@dataclass(frozen=True, slots=True)
class MemoryLedger:
    """The `Ledger` over a dict: changes are kept only when the block ends well."""

    world: World

    @asynccontextmanager
    async def open(
        self, refs: Collection[ResourceRef]
    ) -> AsyncGenerator[Mapping[ResourceRef, Page]]:
        pages = {ref: copy(self.world.pages.get(ref, Page(ref))) for ref in refs}
        for page in pages.values():
            page.revisions = dict(page.revisions)
            page.renewals = {}
        yield pages
        self.world.step()
        self.world.pages |= pages


@dataclass(frozen=True, slots=True)
class PlainReader:
    """The `DocumentReader` of texts alone, in this process; what begins with `SLOW` takes long."""

    world: World

    async def extract(
        self, media_type: str, data: bytes, *, is_brief: bool = False
    ) -> ReadDocument:
        if is_brief and data.startswith(SLOW):
            message = "slow"
            raise TakesLong(message)
        self.world.reads += 1
        return self.world.read(media_type, data)


@dataclass(frozen=True, slots=True)
class MemorySlowQueue:
    """The `SlowQueue` in a list; what one of it has taken, another one may take."""

    world: World
    taken: set[SlowRevision] = field(default_factory=set[SlowRevision])

    async def record(self, slow: SlowRevision) -> None:
        if slow not in self.world.slow:
            self.world.slow.append(slow)

    async def take(self, served: Sequence[str] = ()) -> SlowRevision | None:
        del served
        found = next((each for each in self.world.slow if each not in self.taken), None)
        if found is not None:
            self.taken.add(found)
        return found

    async def renew(self, one: SlowRevision) -> bool:
        return one in self.taken

    async def end(self, one: SlowRevision) -> None:
        self.world.slow.remove(one)

    async def give_back(self, one: SlowRevision) -> None:
        self.taken.remove(one)


@dataclass(frozen=True, slots=True)
class CountingConverter:
    """The `Converter` in this process."""

    world: World

    async def convert(
        self, data: bytes, declared: Mapping[str, ColumnDeclaration], *, media_type: str
    ) -> Snapshot:
        self.world.step()
        self.world.conversions += 1
        convert = {"csv": convert_csv, "parquet": convert_parquet, "xlsx": convert_xlsx}
        return convert[format_of(media_type)](data, declared)


@dataclass(frozen=True, slots=True)
class WatchedBlobs(Blobs):
    """The world's blobs; something can happen while the first one is read."""

    world: World

    async def put(self, tenant: str, data: bytes) -> str:
        return await self.world.blobs.put(tenant, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        return await self.world.blobs.put_run(tenant, run, data)

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        happening, self.world.while_reading = self.world.while_reading, None
        if happening is not None:
            happening()
        return await self.world.blobs.get(tenant, sha256, limit=limit)

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        return await self.world.blobs.get_run(tenant, run, sha256, limit=limit)

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        return await self.world.blobs.exists(tenant, sha256, run=run)

    async def is_intact(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        return await self.world.blobs.is_intact(tenant, sha256, run=run)

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        await self.world.blobs.delete(tenant, sha256, run=run)

    async def remove_older(
        self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
    ) -> bool:
        return await self.world.blobs.remove_older(tenant, sha256, before=before, run=run)


def published(
    ref: ResourceRef, revision: int, content: str, media_type: str, size: int
) -> EventData:
    """Return the publication of a revision or snapshot."""
    if ref.kind == "source":
        return authority.RevisionPublished(
            revision=revision, content_sha256=content, media_type=media_type, size_bytes=size
        )
    return authority.SnapshotPublished(
        snapshot=revision, content_sha256=content, media_type=media_type, size_bytes=size
    )


def declared_source(title: str = "Handbook") -> authority.SourceDeclared:
    """Return the declaration of the source."""
    return authority.SourceDeclared(
        workspace_id="w",
        source_id="handbook",
        title=title,
        visibility="workspace",
        declarer="ada",
    )


def declared_dataset(
    *measures: authority.Measure,
    types: Mapping[str, str] | None = None,
    hidden: tuple[str, ...] = (),
    filtered: tuple[str, ...] = (),
) -> authority.DatasetDeclared:
    """Return the declaration of the dataset."""
    columns = {n: authority.ColumnPolicy(type=t) for n, t in (types or {}).items()}
    columns.update({name: authority.ColumnPolicy(roles=("admin",)) for name in hidden})
    return authority.DatasetDeclared(
        workspace_id="w",
        dataset_id="orders",
        title="Orders",
        visibility="workspace",
        declarer="ada",
        columns=columns,
        row_filters=tuple(
            authority.RowFilter(roles=("reader",), column=name, allowed=("north",))
            for name in filtered
        ),
        measures=measures,
    )


def authority_event(ref: ResourceRef, sequence: int, data: EventData) -> Event:
    """Return `data` in the envelope it is delivered in."""
    envelope = Envelope(
        id=f"event-{sequence}",
        source="chancery/ingestion",
        type=data.TYPE,
        subject=ref.key,
        time=NOW,
        tenant=ref.tenant,
    )
    return Event(envelope=envelope, data=data)


def short(data: EventData) -> str:
    """Return an INDEX event in a few words."""
    words = [_NAMES[type(data)], str(revision_of(data))]
    if isinstance(data, RevisionFailed | RevisionExcluded | RevisionUnavailable):
        words.append(data.reason)
    return " ".join(words)


def revision_of(data: EventData) -> int:
    """Return which revision an INDEX event is about."""
    assert isinstance(data, tuple(_NAMES))
    revision = data.model_dump()["revision"]
    assert isinstance(revision, int)
    return revision


def text_hash(text: bytes) -> str:
    """Return the hash of a text's blob."""
    return sha256_hex(text)
