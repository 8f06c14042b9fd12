"""Batches queue in one appender; single events do not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from chancery.bus.load import Stored
from chancery.bus.publish import Outgoing, Published
from chancery.ingestion.handlers.appending import BATCHES_AT_ONCE, Appender
from tests.unit.ingestion.contract import message
from tests.unit.ingestion.memory_log import MemoryLog


@dataclass(slots=True)
class SlowLog:
    """Holds every batch until `release` is set; `full` once it holds as many as it should."""

    inner: MemoryLog = field(default_factory=MemoryLog)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    full: asyncio.Event = field(default_factory=asyncio.Event)
    held: int = 0
    held_most: int = 0

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        return self.inner.read(subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        if len(messages) > 1:
            self.held += 1
            self.held_most = max(self.held_most, self.held)
            if self.held == BATCHES_AT_ONCE:
                self.full.set()
            await self.release.wait()
            self.held -= 1
        return await self.inner.append(messages)

    async def position(self) -> int:
        return await self.inner.position()


def batch(number: int) -> tuple[Outgoing, ...]:
    """Return two messages on subjects of their own."""
    return tuple(
        message(f"authority.t.source.{number}-{part}", f"{number}-{part}", 0) for part in "ab"
    )


async def test_no_more_batches_are_under_way_than_the_stream_shares_out() -> None:
    log = SlowLog()
    appender = Appender(log)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        appends = [group.create_task(appender.append(batch(number))) for number in range(20)]
        await log.full.wait()
        single = await appender.append((message("authority.t.source.single", "single", 0),))
        waiting = log.held
        log.release.set()

    assert single[0].sequence == 1
    assert (waiting, log.held_most) == (BATCHES_AT_ONCE, BATCHES_AT_ONCE)
    order = [task.result()[0].sequence for task in appends]
    assert order == sorted(order)
    assert await log.position() == 41
