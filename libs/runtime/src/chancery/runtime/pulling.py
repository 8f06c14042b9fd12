"""What feeds a FastStream pull subscriber: pull requests with a heartbeat, bounded by its workers.

It stands in for the driver's pull subscription (FastStream asks it for one message at a time),
which spins on a deleted consumer, cannot tell it from an idle one, and strands what arrives while
the service stops until `ack_wait` has passed. Requests ask for as many messages as workers are
free, so nothing waits unhandled in this process, and the next message needs no round trip.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from chancery.bus.connection import Connection, translate_errors
from chancery.bus.pull import PullInbox
from chancery.events.topology import Consumer
from chancery.kernel.errors import Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg

WAIT_S: Final = 1.0


class GuardedPull:
    """Hands out messages one by one; `failure` says why it has stopped doing so.

    `unsettled` messages were handed out and neither acknowledged nor given back.
    """

    def __init__(self, connection: Connection, consumer: Consumer, workers: int) -> None:
        """Prepare to keep up to `workers` messages in work."""
        self._connection = connection
        self._inbox = PullInbox(connection, consumer.stream, consumer.name)
        self._workers = workers
        self._freed = asyncio.Event()
        self._closing = False
        self._generation = connection.generation
        self.unsettled = 0
        self.settled = 0
        self.failure: Unavailable | None = None

    async def open(self) -> None:
        """Subscribe to the inbox."""
        await self._inbox.open()

    async def fetch(
        self,
        batch: int = 1,
        timeout: float | None = None,  # noqa: ASYNC109 - FastStream's signature.
    ) -> list[Msg]:
        """Return the next message; FastStream calls this in a loop and cancels it at the end."""
        del timeout
        while not self._closing and self.failure is None:
            try:
                messages = await self._next(batch)
            except Unavailable as error:
                self.failure = error
                break
            if messages:
                self.unsettled += len(messages)
                return messages
        await asyncio.Event().wait()
        return []

    async def unsubscribe(self) -> None:
        """End the inbox; FastStream calls this when the subscriber stops."""
        with contextlib.suppress(Unavailable):
            await self._inbox.close()

    def settle(self) -> None:
        """Note that one message was acknowledged, given back or parked."""
        self.unsettled -= 1
        self.settled += 1
        self._freed.set()

    async def wait_settled(self) -> None:
        """Return when no message that was handed out is in work."""
        while self.unsettled > 0:
            self._freed.clear()
            await self._freed.wait()

    async def give_back(self) -> None:
        """Stop deliveries and return what has arrived but was not handed out."""
        self._closing = True
        with contextlib.suppress(Unavailable):
            await self._inbox.drain()
        for message in self._inbox.take():
            with contextlib.suppress(Unavailable), translate_errors():
                await message.nak()

    async def _next(self, batch: int) -> list[Msg]:
        free = self._workers - self.unsettled
        if free <= 0:
            self._freed.clear()
            await self._freed.wait()
            return []
        if self._generation != self._connection.generation:
            self._generation = self._connection.generation
            self._inbox.outstanding = 0  # The server forgets requests of a lost connection.
        if self._inbox.outstanding == 0 and not self._inbox.has_arrived:
            await self._inbox.request(free)
        await self._inbox.wait(WAIT_S)
        return [] if self._closing else self._inbox.take(batch)
