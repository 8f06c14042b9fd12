"""Time as an argument: the one place that reads the wall clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; pass one instead of reading the wall clock."""

    def now(self) -> datetime:
        """Return the current moment, always aware and in UTC."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The wall clock of this machine."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still, for tests and for re-derivation."""

    at: datetime

    def now(self) -> datetime:
        """Return the moment the clock was set to."""
        return self.at


def to_text(moment: datetime) -> str:
    """Return `moment` as RFC 3339 in UTC with six fractional digits and a final Z.

    Raises:
        ValueError: for a moment without a time zone.
    """
    if moment.tzinfo is None:
        message = "a moment needs a time zone"
        raise ValueError(message)
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text}Z"


def from_text(text: str) -> datetime:
    """Return the moment that RFC 3339 `text` names, in UTC.

    Raises:
        ValueError: for text that is not a date and time with a zone.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        message = "a moment needs a time zone"
        raise ValueError(message)
    return moment.astimezone(UTC)
