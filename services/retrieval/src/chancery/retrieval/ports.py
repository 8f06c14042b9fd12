"""What retrieval needs of the world; the adapters and the tests' fakes provide it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Protocol

from chancery.bus.load import Stored, StreamState
from chancery.events.envelope import Envelope, Event
from chancery.retrieval.domain.entries import Entry, EntryKind, Pin, RevisionRef
from chancery.retrieval.domain.gathering import Hit
from chancery.retrieval.domain.mark import Mark


class IndexLog(Protocol):
    """The INDEX stream, for the one reader of this process."""

    async def state(self) -> StreamState:
        """Return where the stream begins and ends, and when it was made."""
        ...

    def read(self, after: int) -> AsyncGenerator[list[Stored]]:
        """Yield every message above `after` for ever, and an empty list when there is none.

        Raises:
            Unavailable: the stream is away; read again from your position.
        """
        ...


class RunLog(Protocol):
    """The RUNS stream, for what retrieval says of a run."""

    async def append(self, run_id: str, event: Event) -> None:
        """Append a `gathered` event; one with this id that is there already is enough."""
        ...

    async def has(self, run_id: str, envelope: Envelope) -> bool:
        """Tell whether the newest `gathered` event of the run has the id of `envelope`."""
        ...


class SearchScope(Protocol):
    """The entries of some pins as of one commit of an index, whatever is committed meanwhile.

    What it returns, and in what order, depends on nothing else that the index holds.
    """

    @property
    def unconfirmed(self) -> frozenset[int]:
        """Return those of the pins whose entries the index does not hold."""
        ...

    def search(self, question: str, *, kind: EntryKind, limit: int) -> tuple[Hit, ...]:
        """Return the best entries for the words of `question`, best first.

        The question is data: no character in it is an operator.
        """
        ...

    def statistics(self, terms: Sequence[str]) -> tuple[tuple[int, ...], int]:
        """Return in how many passages each term stands, and how many passages there are."""
        ...


class SearchIndex(Protocol):
    """The search indexes of all tenants, each by itself; blocking, so call them in a thread.

    One thread writes; any number search. Whatever is wrong with an index is `IndexBroken`.
    """

    def position(self, tenant: str) -> int:
        """Return the INDEX sequence up to which the tenant's index holds everything, or 0."""
        ...

    def positions(self) -> dict[str, int]:
        """Return the positions of all tenants that have an index."""
        ...

    def known(self, tenant: str) -> Mapping[int, int]:
        """Return, by number, as of when the last commit has its word of each revision.

        A place in the authority log; a revision of which nothing was ever here has none.
        """
        ...

    def replace(
        self,
        tenant: str,
        ref: RevisionRef,
        pin: Pin | None,
        entries: Sequence[Entry],
        *,
        as_of: int = 0,
    ) -> None:
        """Put `entries` in the place of what the index holds of `ref`, from the next commit on.

        `as_of` is the place in the authority log that this was concluded from.
        """
        ...

    def commit(self, tenant: str, position: int) -> None:
        """Make the replacements durable and searchable, together with `position`."""
        ...

    def lost(self) -> str | None:
        """Return a tenant whose index is no longer on disk, or None."""
        ...

    def close(self) -> None:
        """Give the writers back; what is open can be searched still."""
        ...

    def drop(self, tenant: str) -> None:
        """Remove the tenant's index with its folder."""
        ...

    def within(
        self, tenant: str, pins: Collection[int], hidden: Collection[tuple[int, str]] = ()
    ) -> SearchScope:
        """Return the entries of `pins` as of the last commit, without the `hidden` measures.

        Those are given by pin and name.
        """
        ...


class Checkpoint(Protocol):
    """Where the reader of INDEX starts again; losing it costs time, never correctness."""

    def load(self) -> Mark | None:
        """Return the last mark, or None when there is none that this build can use."""
        ...

    def store(self, mark: Mark) -> None:
        """Keep `mark`.

        Raises:
            Unavailable: its folder was taken away, or is full; read on from what is there.
        """
        ...
