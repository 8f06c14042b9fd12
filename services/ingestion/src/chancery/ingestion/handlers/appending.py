"""One append that ends in a known outcome: stored, moved, or certainly not stored."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from chancery.bus.publish import InFlight, Outgoing, Published
from chancery.ingestion.errors import Contended
from chancery.ingestion.ports import Log
from chancery.kernel.errors import Unavailable

BATCHES_AT_ONCE = 4
"""A stream takes 50 unfinished batches, of all processes together; more are refused."""

SENDS_MAX = 3
TWINS_MAX = 100
JITTER_S = (0.001, 0.010)


async def jittered_pause() -> None:
    """Wait 1 to 10 ms, so that two writers do not meet again."""
    await asyncio.sleep(random.uniform(*JITTER_S))  # noqa: S311 - no secret


@dataclass(slots=True)
class Appender:
    """Appends to the log; `pause` waits before a twin in flight is met again.

    A process has one. Batches queue here, in the order of their coming; single events do not.
    """

    log: Log
    pause: Callable[[], Awaitable[None]] = jittered_pause
    _batches: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(BATCHES_AT_ONCE))

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        """Append all or none; an unknown outcome is settled by sending the same ids again.

        The ids are derived from the request and each subject is expected as it was read, so a
        repeat cannot append twice: the server answers with the first position, or says that the
        subject moved, and then the caller reloads and looks for its own ids.

        Raises:
            WrongSequence: a subject moved.
            DuplicateMessages: an id was used on another subject.
            Contended: a twin stayed in flight.
            Unavailable: still no acknowledgement.
        """
        for _ in range(SENDS_MAX - 1):
            try:
                return await self._past_twins(messages)
            except Unavailable:
                await self.pause()
        return await self._past_twins(messages)

    async def _past_twins(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        for _ in range(TWINS_MAX):
            try:
                return await self._in_turn(messages)
            except InFlight:
                await self.pause()
        raise Contended

    async def _in_turn(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        if len(messages) == 1:
            return await self.log.append(messages)
        async with self._batches:
            return await self.log.append(messages)
