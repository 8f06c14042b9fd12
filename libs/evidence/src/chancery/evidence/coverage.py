"""How much of the eligible evidence was confirmed indexed when the run searched it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from pydantic import Field

from chancery.events.queries import IndexState
from chancery.events.release import Coverage
from chancery.evidence.record import Record

_Standing = Literal["ready", "pending", "failed", "unavailable"]


class Covered(Protocol):
    """A revision as it was pinned at admission."""

    @property
    def key(self) -> str:
        """The aggregate's id."""
        ...

    @property
    def state(self) -> IndexState:
        """What the index said of it."""
        ...

    @property
    def index_sequence(self) -> int:
        """Where the index said so."""
        ...

    @property
    def extraction_sha256(self) -> str | None:
        """The canonical form, when there is one."""
        ...


class CoverageReport(Record):
    """The coverage of an answer; complete says that all was searched, never that all was found."""

    state: Coverage
    eligible: int = Field(ge=0)
    ready: int = Field(ge=0)
    pending: int = Field(ge=0)
    failed: int = Field(ge=0)
    unavailable: int = Field(ge=0)


def coverage(
    entries: Sequence[Covered], *, index_position: int, unconfirmed: Collection[str]
) -> CoverageReport:
    """Return the coverage of a run over `entries`, from the states pinned at admission.

    A pin is ready when it was ready at or before `index_position`, the place that the searched
    index had reached, and its key is not among the `unconfirmed`; otherwise it is pending. Excluded
    entries are not eligible. Nothing ready and something unavailable is `unavailable`.
    """
    found = [
        _standing(entry, index_position, unconfirmed)
        for entry in entries
        if entry.state != "excluded"
    ]
    ready, unavailable = found.count("ready"), found.count("unavailable")
    return CoverageReport(
        state=_state(len(found), ready, unavailable),
        eligible=len(found),
        ready=ready,
        pending=found.count("pending"),
        failed=found.count("failed"),
        unavailable=unavailable,
    )


def _standing(entry: Covered, index_position: int, unconfirmed: Collection[str]) -> _Standing:
    if entry.state == "failed":
        return "failed"
    if entry.state == "unavailable":
        return "unavailable"
    confirmed = entry.index_sequence <= index_position and entry.key not in unconfirmed
    if entry.state == "ready" and entry.extraction_sha256 is not None and confirmed:
        return "ready"
    return "pending"


def _state(eligible: int, ready: int, unavailable: int) -> Coverage:
    if ready == eligible:
        return "complete"
    return "unavailable" if ready == 0 and unavailable > 0 else "incomplete"
