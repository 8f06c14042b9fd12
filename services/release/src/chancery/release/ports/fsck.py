"""What an examination reads: the record, the projections, the log and the blobs; never writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from chancery.bus.load import Stored, StreamState
from chancery.release.domain.held import HeldRelease
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.resealing import Again
from chancery.release.ports.table_sets import ProjectionName, TableSet
from chancery.tabular.preview import PreviewForm
from chancery.tabular.restricting import Restricted

Told: TypeAlias = Callable[[str, int, int], None]
"""Takes the name of a check, how far it is, and of how many (0 when nobody can tell)."""


class ReleaseName(NamedTuple):
    """What a release is called, and whose it is."""

    tenant: str
    release_id: str


@dataclass(frozen=True, slots=True)
class Serving:
    """A revision that serves, with what the index says of it; it may say nothing readable."""

    tenant: str
    kind: str
    key: str
    revision: int
    published: int
    content_sha256: str | None
    entry: IndexEntry | None
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class OutboxState:
    """What waits to be published; `oldest` is 0 when nothing does."""

    waiting: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that the log does not give, or gives otherwise; `digest` when it is the digest."""

    tenant: str
    kind: str
    id: str


class Records(Protocol):
    """Reads of the schema of release."""

    async def table_sets(self) -> tuple[TableSet, ...]:
        """Return every table set."""
        ...

    async def count_releases(self, run_id: str | None = None) -> int:
        """Return how many releases there are, of all runs or of one."""
        ...

    def releases(self, run_id: str | None = None) -> AsyncIterator[Sequence[HeldRelease]]:
        """Yield all releases, or those of one run, page by page."""
        ...

    async def named(self, names: Sequence[ReleaseName]) -> frozenset[ReleaseName]:
        """Return which of these releases there are."""
        ...

    async def count_cuts(self, places: Sequence[tuple[str, int]]) -> int:
        """Return how many of these places of tenants hold a cut of the live projection."""
        ...

    async def count_serving(self) -> int:
        """Return how many revisions serve."""
        ...

    def serving(self) -> AsyncIterator[Sequence[Serving]]:
        """Yield all revisions that serve, page by page."""
        ...

    async def outbox(self) -> OutboxState:
        """Return what waits in the outbox."""
        ...

    async def counts(self) -> dict[str, int]:
        """Return what is only counted: harmless cuts, and what is kept back."""
        ...


class Logs(Protocol):
    """Reads of the streams."""

    async def state(self, stream: str) -> StreamState:
        """Return where a stream begins and ends."""
        ...

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return a message."""
        ...

    def subject(self, stream: str, subject: str, after: int = 0) -> AsyncIterator[Stored]:
        """Yield the messages on a subject with a sequence above `after`, in order."""
        ...


class Reexecution(Protocol):
    """Runs a sealed statement again in a process of its own."""

    async def __call__(self, sql: str, table: Restricted, *, form: PreviewForm) -> Again:
        """Return the preview, in `form`, and the rows that the statement read.

        Raises:
            Rejected, Unavailable: with a stable code, as `WorkerPool.query_with_rows`.
        """
        ...


class Refolding(Protocol):
    """Folds a whole stream again and compares; the projection goes on meanwhile."""

    @property
    def name(self) -> ProjectionName:
        """Return which projection."""
        ...

    async def compare(self, tell: Told) -> tuple[bool, list[Difference]]:
        """Return whether the digest is the same, and the rows that differ."""
        ...
