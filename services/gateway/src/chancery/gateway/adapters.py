"""The ports of the edge on NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from chancery.bus.connection import Connection
from chancery.bus.load import last_message
from chancery.bus.publish import WrongSequence, publish
from chancery.bus.request import ask
from chancery.events.envelope import Event
from chancery.events.requests import Caller, Request
from chancery.events.topology import (
    LAST_NUDGE,
    RUNS,
    abandoned_subject,
    nudge_subject,
    query_subject,
)
from chancery.gateway.ports import Nudge, Sent, Told
from chancery.kernel.errors import Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg

ASK_TIMEOUT_S = 5.0
QUERY_TIMEOUT_S = 45.0
"""A caller's own statement may wait for a free process and then run for its whole time."""

PUBLISH_TIMEOUT_S = 5.0
_STATEMENTS = query_subject("execution", "sql")

ANNOUNCE_TRIES: Final = 4
GATHER_S: Final = 0.05
"""How long rows before a run's end may wait for others: each read of them is a disclosure."""


@dataclass(frozen=True, slots=True)
class BusOwners:
    """Owners that answer by request/reply."""

    connection: Connection

    async def ask(self, subject: str, request: Request[Sent], reply: type[Told]) -> Told:
        """Return the owner's answer, or raise its refusal.

        An owner that was killed while it worked never answers: the request is sent once more, and
        its idempotency key makes that safe.
        """
        if subject.startswith(_STATEMENTS):
            return await ask(self.connection, subject, request, reply, timeout_s=QUERY_TIMEOUT_S)
        try:
            return await ask(self.connection, subject, request, reply, timeout_s=ASK_TIMEOUT_S)
        except Unavailable as error:
            if error.code != "bus_timeout":
                raise
            return await ask(self.connection, subject, request, reply, timeout_s=ASK_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class BusAnnouncements:
    """The RUNS stream; each subject of it holds one event of the edge."""

    connection: Connection

    async def announce(self, subject: str, event: Event) -> None:
        """Store `event` once, behind those of earlier generations; a repeat changes nothing.

        Raises:
            WrongSequence: others announced all the while.
        """
        last = 0
        for left in reversed(range(ANNOUNCE_TRIES)):
            try:
                await publish(
                    self.connection, subject, event, timeout_s=PUBLISH_TIMEOUT_S, expect_last=last
                )
            except WrongSequence:
                stored = await last_message(self.connection, RUNS, subject)
                if stored is not None and stored.message_id == event.id:
                    return
                if stored is None or not left:
                    raise
                last = stored.sequence
            else:
                return


@dataclass(frozen=True, slots=True)
class Bell:
    """Rung by nudges, waited for by one stream of events."""

    gather_s: float = GATHER_S
    _rung: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def ring(self, *, is_last: bool) -> None:
        """Say that there is something new; after the last of a run nothing is waited for."""
        self._rung.set()
        if is_last:
            self._ended.set()

    async def wait(self, timeout_s: float) -> None:
        """Return `gather_s` after the next ring, at once at the last, else after `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
            async with asyncio.timeout(self.gather_s):
                await self._ended.wait()
        self._rung.clear()


@dataclass(frozen=True, slots=True)
class BusNudges:
    """Nudges on core NATS subjects, one a run."""

    connection: Connection

    @asynccontextmanager
    async def of_run(self, tenant: str, run_id: str) -> AsyncGenerator[Nudge]:
        """Subscribe to the nudges of one run for as long as the context is open."""
        bell = Bell()

        async def ring(message: Msg) -> None:
            bell.ring(is_last=message.data == LAST_NUDGE)

        subject = nudge_subject(tenant, run_id)
        subscription = await self.connection.subscribe(subject, ring)
        try:
            yield bell
        finally:
            with suppress(Exception):
                await subscription.unsubscribe()

    async def abandon(self, caller: Caller, idempotency_key: str) -> None:
        """Say it once; who misses it goes on until its own deadline."""
        subject = abandoned_subject(caller.tenant, caller.principal, idempotency_key)
        with suppress(Unavailable):
            await self.connection.send(subject, b"")
