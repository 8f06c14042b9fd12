"""What a worker is told about a message, and the ack policy: what follows from how it ended.

The rules in one place: done is acknowledged; a transient failure is delivered again after a growing
delay; what can never succeed, and what failed too often, is parked in the database and then
rejected, so that it neither blocks the others nor gets lost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from chancery.events.envelope import Event
from chancery.kernel.errors import Corrupt, Rejected

DELIVERIES_MAX: Final = 8
DELAY_S_FIRST: Final = 0.2
DELAY_S_MAX: Final = 5.0
RETRIES_EXHAUSTED: Final = "retries_exhausted"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of a stored message; `attempt` is 1 at first, `pending` wait behind it."""

    stream: str
    sequence: int
    consumer: str
    subject: str
    attempt: int
    time: datetime
    pending: int
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it came, not decoded; `headers` by their names as sent."""

    payload: bytes
    headers: Mapping[str, str]


Receiver: TypeAlias = "Callable[[Received, Delivery], Awaitable[None]]"
"""Works on one message of others' making; otherwise like a `Handler`."""

Handler: TypeAlias = "Callable[[Event, Delivery], Awaitable[None]]"
"""Works on one event; runs again after a failure, so the second run must change nothing."""


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """It is done."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Deliver it again after `delay_s`."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Park:
    """Store it for an operator with `reason`, a stable code, and deliver it no more."""

    reason: str


Verdict: TypeAlias = Acknowledge | Retry | Park


def judge(error: Exception | None, attempt: int, deliveries_max: int = DELIVERIES_MAX) -> Verdict:
    """Return what to do with a message whose handling ended with `error`."""
    match error:
        case None:
            return Acknowledge()
        case Rejected() | Corrupt():
            return Park(error.code)
        case _ if attempt >= deliveries_max:
            return Park(RETRIES_EXHAUSTED)
        case _:
            return Retry(retry_delay_s(attempt))


def retry_delay_s(attempt: int) -> float:
    """Return the wait before delivery `attempt + 1`: doubling from 0.2 s, at most 5 s."""
    assert attempt >= 1
    return min(DELAY_S_MAX, DELAY_S_FIRST * 2.0 ** min(attempt - 1, 16))
