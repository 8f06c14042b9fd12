"""What the commands need of the outside: the log, request subjects, the operator's token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from chancery.bus.load import Stored
from chancery.bus.publish import Outgoing, Published
from chancery.events.envelope import Event
from chancery.events.requests import Message, Request

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)


class Log(Protocol):
    """The AUTHORITY stream, read from its leader and appended with expectations."""

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        """Yield what is stored on the literal subject behind `after`, in order, to the end.

        Raises:
            Unavailable: the leader does not answer.
        """
        ...

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        """Append all messages or none, and return their positions in order.

        Raises:
            WrongSequence: an expectation does not hold; nothing was stored.
            InFlight: a racing write to one of the subjects; nothing was stored.
            DuplicateMessages: some ids were stored before elsewhere; nothing was stored.
            Unavailable: no acknowledgement; whether it was stored is then unknown.
        """
        ...

    async def position(self) -> int:
        """Return the leader's last sequence.

        Raises:
            Unavailable: the leader does not answer.
        """
        ...


class Outcomes(Protocol):
    """Where senders read what became of their submissions."""

    async def tell(self, outcome: Event) -> None:
        """Store the outcome where its sender, and nobody else, reads it.

        Telling it a second time changes nothing.

        Raises:
            Unavailable: the stream is away; tell it again.
        """
        ...

    async def accepted(self, tenant: str, principal: str, event_id: str) -> tuple[Event, ...]:
        """Return the acceptances among the newest outcomes of a sender's event id.

        Raises:
            Unavailable: the stream is away.
        """
        ...


class TokenFile(Protocol):
    """Where the operator finds the first token."""

    async def exists(self) -> bool:
        """Return whether a token was written before."""
        ...

    async def write(self, token: str) -> None:
        """Store the token durably, readable by the owner only."""
        ...


class Responders(Protocol):
    """Where request subjects get their handlers: the chassis."""

    def responder(
        self,
        subject: str,
        body_type: type[BodyT],
        handler: Callable[[Request[BodyT]], Awaitable[AnswerT]],
    ) -> None:
        """Answer the requests on `subject` with `handler`."""
        ...
