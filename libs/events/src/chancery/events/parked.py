"""Messages that are set aside: what an operator asks their owner, and the event of discarding one.

Ids, codes and hashes only: what a parked message holds is never told.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from chancery.events.envelope import EventData, Id, Many, Moment, Ordinal, Position, Sha256, Whole
from chancery.events.requests import Message

ENTRIES_MAX: Final = 200
"""Entries of one page."""

Note = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,300}$")]
"""Why an operator discards a message: one line of their own words."""

ParkedState = Literal["parked", "quarantined", "retried", "discarded"]
"""Parked after its handler gave it up; quarantined because a projection could not fold it."""


class ParkedDiscarded(EventData):
    """An operator discarded a parked message; `reason` is why, `reason_code` why it was parked.

    The message itself stays on its stream as long as that keeps it.
    """

    TYPE: ClassVar[str] = "chancery.parked.discarded.v1"
    stream: Id
    consumer: Id
    sequence: Ordinal
    reason_code: str = Field(pattern=r"^[a-z0-9_]{1,64}$")
    reason: str = Field(min_length=1, max_length=300)
    payload_sha256: Sha256
    event_id: Id | None = None
    event_type: str | None = Field(default=None, max_length=200)


class OfParked(Message):
    """Name one parked message: the consumer that gave it up, and its place on the stream."""

    consumer: Id
    sequence: int = Field(ge=1)


class FindParked(Message):
    """Ask for parked messages in the order of consumer and sequence, from behind `after` on."""

    consumer: Id | None = None
    sequence: int | None = Field(default=None, ge=1)
    reason: str | None = Field(default=None, min_length=1, max_length=64)
    resolved: bool = False
    after: OfParked | None = None
    limit: int = Field(default=ENTRIES_MAX, ge=1, le=ENTRIES_MAX)


class ParkedEntry(OfParked):
    """One parked message; `attributes` is its envelope without anything that may be content."""

    stream: Id
    subject: str
    state: ParkedState
    reason: str
    attempts: Whole
    tenant: str | None = None
    message_id: str | None = None
    event_id: str | None = None
    event_type: str | None = None
    parked_at: Moment | None = None
    resolved_at: Moment | None = None
    note: str | None = None
    size_bytes: Whole
    payload_sha256: Sha256
    attributes: dict[str, str] = Field(default_factory=dict[str, str])


class ParkedEntries(Message):
    """One page, and whether there is another; `waiting` counts all that are not resolved."""

    entries: Many[ParkedEntry]
    has_more: bool
    waiting: int = Field(ge=0)


class RetryParked(OfParked):
    """Hand a parked message to its handler again, under the policy of its consumer."""


class ParkedRetried(Message):
    """How a retry ended: handled, or parked again for `reason` after `attempts` in all."""

    outcome: Literal["handled", "parked"]
    reason: str | None = None
    attempts: int = Field(ge=0)


class DiscardParked(OfParked):
    """Give a parked message up for good; an event of AUTHORITY is never discarded."""

    reason: Note


class DiscardOutcome(Message):
    """The event that says so and where it stands; `changed` is false when it was there before."""

    event_id: Id
    position: Position
    changed: bool


MODELS: tuple[type[EventData], ...] = (ParkedDiscarded,)
"""Every event of the PARKED stream."""
