"""What execution needs: the admission of a run, places to store and tell, a selector, SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chancery.events.envelope import Event
from chancery.events.run import Bounds, RunAdmitted
from chancery.evidence.manifest import MeasureCard
from chancery.evidence.sentences import Span
from chancery.tabular.jobs import RowTable, Table, Uncut
from chancery.tabular.preview import Preview


class RunLog(Protocol):
    """The RUNS stream, as far as execution reads and writes it."""

    async def admitted(self, tenant: str, run_id: str) -> RunAdmitted:
        """Return the newest admission of a run.

        Raises:
            NotAdmitted: when it is not there yet.
        """
        ...

    async def record(self, subject: str, event: Event) -> None:
        """Store an event; a repeat with the same id changes nothing."""
        ...


class Cutter(Protocol):
    """Cuts snapshots in processes in which no statement runs."""

    async def cut(self, uncut: Uncut, *, bytes_max: int) -> Table:
        """Return what the caller may read of a snapshot, and nothing else.

        Raises:
            TooLarge: when that takes more than `bytes_max`.
            Rejected: with a stable code.
        """
        ...


class Sql(Protocol):
    """Governed SQL in a process of its own."""

    async def query(self, sql: str, tables: Sequence[Table]) -> Preview:
        """Return the preview of `sql` over what the caller may read of `tables`.

        Raises:
            Rejected: with a stable code, never the engine's text.
        """
        ...

    async def query_with_rows(self, sql: str, table: Table) -> tuple[Preview, RowTable | None]:
        """Return the preview of `sql`, and the rows it read where a bundle can carry them.

        Raises:
            Rejected: as `query`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A gathered passage with the text it lies in; offsets are code points of that text.

    `is_paged` tells that the text is that of a document with pages.
    """

    key: str
    revision: int
    part_id: str
    span: Span
    text: str
    is_paged: bool = False


@dataclass(frozen=True, slots=True)
class OfferedMeasure:
    """A gathered measure: its dataset, its pinned snapshot and its card."""

    key: str
    snapshot: int
    card: MeasureCard


@dataclass(frozen=True, slots=True)
class Statistics:
    """In how many of the scope's `total` passages each distinct term of the question stands.

    `counts` follow the order of `chancery.evidence.terms.terms` over the question.
    """

    counts: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, in which language it is answered, and how much it may take."""

    text: str
    language: str
    bounds: Bounds
    statistics: Statistics | None = None


@dataclass(frozen=True, slots=True)
class SelectedQuote:
    """A selected quotation, by ids and offsets."""

    key: str
    revision: int
    part_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class SelectedMeasure:
    """A selected measure; its value comes from execution, never from a selector."""

    measure: OfferedMeasure


Selected = SelectedQuote | SelectedMeasure


class Selector(Protocol):
    """Chooses evidence; it can make an answer worse or refused, never make it lie."""

    @property
    def name(self) -> str:
        """Return the selector's name as receipts record it."""
        ...

    async def select(
        self,
        question: Question,
        passages: Sequence[Passage],
        measures: Sequence[OfferedMeasure],
    ) -> tuple[Selected, ...]:
        """Return the selection in the order of the answer; empty means insufficient evidence."""
        ...
