"""What the edge needs: owners to ask, a place to announce runs, and nudges to wait for."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from chancery.events.envelope import Event
from chancery.events.requests import Caller, Message, Request

Sent = TypeVar("Sent", bound=Message)
Told = TypeVar("Told", bound=Message)


class Owners(Protocol):
    """The services that own what callers ask for."""

    async def ask(self, subject: str, request: Request[Sent], reply: type[Told]) -> Told:
        """Return the owner's answer.

        Raises:
            ChanceryError: the owner's refusal, or Unavailable when it does not answer in time.
        """
        ...


class Announcements(Protocol):
    """The RUNS stream, as far as the edge may write it."""

    async def announce(self, subject: str, event: Event) -> None:
        """Store `event` once; a repeat with the same id changes nothing.

        Raises:
            Unavailable: when the store did not acknowledge in time.
        """
        ...


class Nudge(Protocol):
    """Wakes up when there may be something new of one run."""

    async def wait(self, timeout_s: float) -> None:
        """Return soon after the next nudge, or after `timeout_s` seconds without one."""
        ...


class Nudges(Protocol):
    """Hints on core NATS; losing one costs time, never an event."""

    def of_run(self, tenant: str, run_id: str) -> AbstractAsyncContextManager[Nudge]:
        """Return a subscription to the nudges of one run."""
        ...

    async def abandon(self, caller: Caller, idempotency_key: str) -> None:
        """Say that nobody waits for the answer to a request any more."""
        ...
