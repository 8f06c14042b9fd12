"""What indexing needs of the world; the adapters and the tests' fakes provide it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from chancery.events.envelope import Event, EventData
from chancery.extract.extraction import Extraction
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.wishes import SlowRevision, Wish, WorkT
from chancery.tabular.schema import ColumnDeclaration
from chancery.tabular.snapshot import Snapshot


class AuthorityLog(Protocol):
    """The events of one resource on AUTHORITY, read from the stream's leader."""

    def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        """Yield (sequence, data) above `after`, in order, to the end.

        Raises:
            UnreadableHistory: for an event that this build cannot decode.
            Unavailable: when the stream is away.
        """
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """An event for the INDEX subject of `ref`, which has to end at `expect_last` still."""

    ref: ResourceRef
    event: Event
    expect_last: int


class IndexLog(Protocol):
    """The events of resources on INDEX."""

    async def append(self, entries: Sequence[Entry]) -> tuple[int, ...]:
        """Append all entries, each of another resource, or none; return their sequences.

        Raises:
            LogMoved: when a subject ends elsewhere, or holds its event already; read on, then
                decide. Nothing was stored by this call.
            Unavailable: when it is not known to be stored.
        """
        ...

    def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        """Yield (sequence, data) above `after`, in order, to the end."""
        ...


class Ledger(Protocol):
    """The pages of all resources; one holder of a page at a time, across processes."""

    def open(
        self, refs: Collection[ResourceRef]
    ) -> AbstractAsyncContextManager[Mapping[ResourceRef, Page]]:
        """Lock the pages of `refs`; leaving normally stores them, an exception forgets the changes.

        Raises:
            Unavailable: when the store is away, or another holder keeps a page too long.
        """
        ...


class Waiting(Protocol[WorkT]):
    """Work that waits, each piece of it taken by one process at a time."""

    async def take(self, served: Sequence[str] = ()) -> WorkT | None:
        """Take the oldest of a tenant that is not in `served`, else of the first one there.

        Whoever does not `renew` it loses it after a while.
        """
        ...

    async def renew(self, one: WorkT) -> bool:
        """Keep what was taken here; False when another process has it."""
        ...

    async def end(self, one: WorkT) -> None:
        """Say that it was done, as far as it can be; what another process has is left alone."""
        ...

    async def give_back(self, one: WorkT) -> None:
        """Let be taken again what could not be done now, as `end` does."""
        ...


class Wishes(Waiting[Wish], Protocol):
    """What is to be indexed again."""

    async def record(self, wish: Wish) -> bool:
        """Record a wish; False when this very request was recorded before.

        Raises:
            RefreshedRecently: another request wished the same less than a minute ago.
            Unavailable: the store is away.
        """
        ...


class SlowQueue(Waiting[SlowRevision], Protocol):
    """Revisions that are extracted by themselves; one that was done is forgotten."""

    async def record(self, slow: SlowRevision) -> None:
        """Record a revision, unless it waits already.

        Raises:
            Unavailable: the store is away.
        """
        ...


class Retries(Protocol):
    """The snapshots that failed for a reason that passes."""

    async def due(self, limit: int) -> Sequence[SlowRevision]:
        """Return up to `limit` of those whose next attempt is due, the longest waiting ones first.

        Raises:
            Unavailable: the store is away.
        """
        ...


class LostForms(Protocol):
    """The resources of which a revision is unavailable, or was and is pending since.

    It is pending when another extractor than that of its form is wanted by now.
    """

    async def sample(self, limit: int) -> Sequence[ResourceRef]:
        """Return up to `limit` of them, in time every one.

        Raises:
            Unavailable: the store is away.
        """
        ...


class DocumentReader(Protocol):
    """Turns a document into its canonical text, without letting a bad one harm this process."""

    async def extract(self, media_type: str, data: bytes, *, is_brief: bool = False) -> Extraction:
        """Return the text, with pages and layout when the document has them.

        `is_brief` gives it no more time than others should wait.

        Raises:
            TakesLong: it needs more than that.
            Rejected: with a stable code, when the document does not allow one.
            Unavailable: when no process could take it now.
        """
        ...


class Converter(Protocol):
    """Turns a CSV, Parquet or XLSX file into a snapshot, in a process that can be killed."""

    async def convert(
        self, data: bytes, declared: Mapping[str, ColumnDeclaration], *, media_type: str
    ) -> Snapshot:
        """Return the snapshot.

        Raises:
            Rejected: with a stable code, when the file or its declaration does not allow one.
            Unavailable: when no worker could take it now.
        """
        ...
