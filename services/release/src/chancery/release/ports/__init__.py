"""What the parts of release ask of each other without knowing who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol, TypeAlias, TypeVar

from chancery.bus.load import Stored
from chancery.events.requests import Message, Request
from chancery.release.domain.marks import Mark
from chancery.store.pool import Connection

_BodyT = TypeVar("_BodyT", bound=Message)
_AnswerT = TypeVar("_AnswerT", bound=Message)

ReadEnd: TypeAlias = Callable[[], Awaitable[int]]
"""Returns a sequence of the log above every command acknowledged before the call."""


class Applier(Protocol):
    """Stores what messages change; one serves one turn as the writer and is then dropped."""

    async def apply(
        self,
        connection: Connection,
        table_set: int,
        mark: Mark,
        messages: Sequence[Stored],
        *,
        refused: Collection[int] = (),
    ) -> Mark | None:
        """Store the fold of `messages` and the mark behind them; None when the mark had moved.

        `refused` are the sequences of messages whose rows the database does not take: they wait in
        quarantine instead.
        """
        ...


class Responders(Protocol):
    """Where request handlers are registered; the chassis is one."""

    def responder(
        self,
        subject: str,
        body_type: type[_BodyT],
        handler: Callable[[Request[_BodyT]], Awaitable[_AnswerT]],
    ) -> None:
        """Answer the requests on `subject`."""
        ...


class Nudges(Protocol):
    """Core NATS, for messages whose loss loses nothing; the bus connection is one."""

    async def send(self, subject: str, payload: bytes) -> None:
        """Publish without an acknowledgement."""
        ...
