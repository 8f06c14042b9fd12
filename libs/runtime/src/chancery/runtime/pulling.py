"""What feeds a FastStream pull subscriber: pull requests with a heartbeat, bounded by its workers.

It stands in for the driver's pull subscription, which spins on a deleted consumer, cannot tell it
from an idle one, and strands what arrives while the service stops until `ack_wait` has passed; and
for FastStream's queue between the two, which takes as long as handling does. Requests ask for as
many messages as workers are free, so nothing waits unhandled in this process, and the next message
needs no round trip.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from chancery.bus.connection import Connection, translate_errors
from chancery.bus.pull import PullInbox
from chancery.events.codec import stated_type
from chancery.events.topology import Consumer
from chancery.kernel.errors import Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg

WAIT_S: Final = 1.0

Consume: TypeAlias = "Callable[[Msg], Coroutine[Any, Any, object]]"


class GuardedPull:
    """Hands out messages; `failure` says why it has stopped doing so.

    `unsettled` messages were handed out and neither acknowledged nor given back.
    """

    def __init__(
        self, connection: Connection, consumer: Consumer, workers: int, passed_over: Collection[str]
    ) -> None:
        """Prepare to keep up to `workers` messages in work.

        Events that state a type of `passed_over` are acknowledged at once.
        """
        self._connection = connection
        self._passed_over = passed_over
        self._inbox = PullInbox(connection, consumer.stream, consumer.name)
        self._workers = workers
        self._freed = asyncio.Event()
        self._closing = False
        self._unbegun: dict[int, Msg] = {}
        self._generation = connection.generation
        self.unsettled = 0
        self.settled = 0
        self.failure: Unavailable | None = None

    async def open(self) -> None:
        """Subscribe to the inbox."""
        await self._inbox.open()

    async def hand_out(self, consume: Consume) -> None:
        """Run `consume` on each message, so many at a time, and return when the last one ended."""
        try:
            await self._hand_out_until_lost(consume)
        finally:
            await self._give_back_unbegun()

    async def fetch(
        self,
        batch: int = 1,
        timeout: float | None = None,  # noqa: ASYNC109 - FastStream's signature.
    ) -> list[Msg]:
        """Give FastStream's own loop nothing, ever; it cancels this at the end."""
        del batch, timeout
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

    def close(self) -> None:
        """Hand out nothing any more, even if a library swallows the cancellation."""
        self._closing = True
        self._freed.set()

    async def give_back(self) -> None:
        """Stop deliveries and return what has arrived but was not handed out."""
        self.close()
        with contextlib.suppress(Unavailable):
            await self._inbox.drain()
        for message in self._inbox.take():
            with contextlib.suppress(Unavailable), translate_errors():
                await message.nak()

    async def _hand_out_until_lost(self, consume: Consume) -> None:
        async with asyncio.TaskGroup() as group:
            while not self._closing and self.failure is None:
                try:
                    await self._hand_out_next(consume, group)
                except Unavailable as error:
                    self.failure = error

    async def _hand_out_next(self, consume: Consume, group: asyncio.TaskGroup) -> None:
        free = self._workers - self.unsettled
        if free <= 0:
            self._freed.clear()
            await self._freed.wait()
            return
        if self._generation != self._connection.generation:
            self._generation = self._connection.generation
            self._inbox.outstanding = 0  # The server forgets requests of a lost connection.
        if self._inbox.outstanding == 0 and not self._inbox.has_arrived:
            await self._inbox.request(free)
        await self._inbox.wait(WAIT_S)
        for message in [] if self._closing else self._inbox.take(free):
            self.unsettled += 1
            self._unbegun[id(message)] = message
            group.create_task(self._handle(consume, message))

    async def _handle(self, consume: Consume, message: Msg) -> None:
        del self._unbegun[id(message)]
        if self._passed_over and stated_type(message.data) in self._passed_over:
            await self._acknowledge(message)
        else:
            await consume(message)

    async def _acknowledge(self, message: Msg) -> None:
        try:
            # One that stays unacknowledged is delivered again, and passed over again.
            with contextlib.suppress(Unavailable), translate_errors():
                await message.ack()
        finally:
            self.settle()

    async def _give_back_unbegun(self) -> None:
        """Give back what was handed out to a task that was cancelled before its first step."""
        while self._unbegun:
            _, message = self._unbegun.popitem()
            try:
                with contextlib.suppress(Unavailable), translate_errors():
                    await message.nak()
            finally:
                self.settle()
