"""How much of the eligible evidence was confirmed indexed when the run searched it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final, Literal, Protocol, Self

from pydantic import Field, StringConstraints, model_validator

from chancery.events.index import REASON_PATTERN
from chancery.events.queries import IndexState
from chancery.events.release import Coverage
from chancery.evidence.record import Record

_Standing = Literal["ready", "pending", "failed", "unavailable"]

NOT_INDEXED_YET: Final = "not_indexed_yet"
"""Why a pin is pending that no extraction has ended for."""

NOT_CONFIRMED: Final = "not_confirmed"
"""Why a pin is pending that is ready, but not known to be in the index that was searched."""

NOT_RECORDED: Final = "not_recorded"
"""Why a pin failed or is unavailable of which no more was written down, or may be told."""

Reason = Annotated[str, StringConstraints(pattern=REASON_PATTERN)]
"""A stable code, never text of a file and never an id."""


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

    @property
    def reason(self) -> str | None:
        """Why it failed or is unavailable."""
        ...


class CoverageReport(Record):
    """The coverage of an answer; complete says that all was searched, never that all was found.

    `reasons` counts by stable code why the others are pending, failed or unavailable; it is left
    out when there are none, and by records that are older than it.
    """

    state: Coverage
    eligible: int = Field(ge=0)
    ready: int = Field(ge=0)
    pending: int = Field(ge=0)
    failed: int = Field(ge=0)
    unavailable: int = Field(ge=0)
    reasons: Mapping[Reason, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict[str, int], exclude_if=lambda reasons: not reasons
    )

    @model_validator(mode="after")
    def _reasons_are_of_what_is_missing(self) -> Self:
        missing = self.pending + self.failed + self.unavailable
        if self.reasons and sum(self.reasons.values()) != missing:
            message = "the reasons must count what is pending, failed or unavailable, each once"
            raise ValueError(message)
        return self


def coverage(
    entries: Sequence[Covered], *, index_position: int, unconfirmed: Collection[str]
) -> CoverageReport:
    """Return the coverage of a run over `entries`, from the states pinned at admission.

    A pin is ready when it was ready at or before `index_position`, the place that the searched
    index had reached, and its key is not among the `unconfirmed`; otherwise it is pending. Excluded
    entries are not eligible. Nothing ready and something unavailable is `unavailable`.
    """
    eligible = [entry for entry in entries if entry.state != "excluded"]
    found: list[_Standing] = [_standing(entry, index_position, unconfirmed) for entry in eligible]
    reasons = Counter(
        _reason(entry, standing)
        for entry, standing in zip(eligible, found, strict=True)
        if standing != "ready"
    )
    ready, unavailable = found.count("ready"), found.count("unavailable")
    return CoverageReport(
        state=_state(len(found), ready, unavailable),
        eligible=len(found),
        ready=ready,
        pending=found.count("pending"),
        failed=found.count("failed"),
        unavailable=unavailable,
        reasons=dict(sorted(reasons.items())),
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


def _reason(entry: Covered, standing: _Standing) -> str:
    if standing == "pending":
        return NOT_CONFIRMED if entry.state == "ready" else NOT_INDEXED_YET
    return entry.reason or NOT_RECORDED


def _state(eligible: int, ready: int, unavailable: int) -> Coverage:
    if ready == eligible:
        return "complete"
    return "unavailable" if ready == 0 and unavailable > 0 else "incomplete"
