"""One process of the skeleton: `python -m tests.bench.hop release|retrieval|execution`.

It receives, publishes the next stage's event and acknowledges, with no work between. The process
`release` also takes a cut, waits until it has read it back, and commits one transaction.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import asyncpg
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from nats.js.api import ConsumerConfig

from chancery.bus.connection import Connection, connect
from chancery.bus.provision import consumer_settings
from chancery.bus.publish import Outgoing, publish_message
from chancery.bus.reader import PullReader
from chancery.kernel.ids import random_id
from chancery.store.queries import load_queries
from tests.bench import plan

NATS_VARIABLE: Final = "BENCH_NATS_URL"
DSN_VARIABLE: Final = "BENCH_DSN"
READY: Final = "ready"
WORKERS: Final = 4
TIMEOUT_S: Final = 10.0

_INSERT_MARK = load_queries("tests.bench")["insert_mark"]
_NEXT: Final = {
    plan.REQUESTED: plan.ADMITTED,
    plan.ADMITTED: plan.GATHERED,
    plan.GATHERED: plan.PROPOSED,
}


@dataclass(slots=True)
class Passed:
    """How far the reader has come in the skeleton's authority stream."""

    sequence: int = 0
    condition: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def follow(self, bus: Connection) -> None:
        """Read the stream for ever."""
        async for batch in PullReader(bus, plan.READER).read(0):
            if batch:
                async with self.condition:
                    self.sequence = batch[-1].sequence
                    self.condition.notify_all()

    async def wait(self, sequence: int) -> None:
        """Return once `sequence` was read."""
        async with asyncio.timeout(TIMEOUT_S), self.condition:
            await self.condition.wait_for(lambda: self.sequence >= sequence)


@dataclass(frozen=True, slots=True)
class Hop:
    """What the handlers of one process share."""

    bus: Connection
    passed: Passed
    pool: asyncpg.Pool[asyncpg.Record] | None

    async def pass_on(self, event: str, run: str, payload: bytes) -> None:
        """Publish the next stage's event."""
        await self._append(plan.stage_subject(run, _NEXT[event]), payload)

    async def seal(self, run: str, payload: bytes) -> None:
        """Take a cut, wait for it, commit, tell whoever waits, and publish the end."""
        assert self.pool is not None
        cut = await self._append(plan.CUT, payload)
        await self.passed.wait(cut)
        async with (
            self.pool.acquire(timeout=TIMEOUT_S) as connection,
            connection.transaction(),
        ):
            await connection.execute(_INSERT_MARK, run, cut, timeout=TIMEOUT_S)
        await self.bus.send(f"{plan.NUDGES}.{run}", b"")
        await self._append(plan.release_subject(run), payload)

    async def _append(self, subject: str, payload: bytes) -> int:
        outgoing = Outgoing(subject=subject, payload=payload, message_id=random_id())
        return (await publish_message(self.bus, outgoing)).sequence


async def serve(name: str) -> None:
    """Run one process of the skeleton until it is ended."""
    url = os.environ[NATS_VARIABLE]
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(connect(url, name=f"bench-{name}"))
        pool = None
        if plan.PROPOSED in plan.PROCESSES[name]:
            opened = asyncpg.create_pool(os.environ[DSN_VARIABLE], min_size=2, max_size=4)
            pool = await stack.enter_async_context(opened)
        hop = Hop(bus, Passed(), pool)
        broker = NatsBroker(url, apply_types=False, logger=None)
        for event in plan.PROCESSES[name]:
            _subscribe(broker, hop, event)
        async with asyncio.TaskGroup() as group:
            if pool is not None:
                group.create_task(hop.passed.follow(bus))
            await broker.connect()
            await broker.start()
            print(READY, flush=True)
            await asyncio.Event().wait()


def _subscribe(broker: NatsBroker, hop: Hop, event: str) -> None:
    consumer = plan.WORKERS[event]
    subscriber: Any = broker.subscriber(
        consumer.subjects[0],
        stream=JStream(consumer.stream, declare=False),
        durable=consumer.name,
        config=ConsumerConfig.from_response(consumer_settings(consumer)),
        pull_sub=PullSub(batch_size=1),
        ack_policy=AckPolicy.NACK_ON_ERROR,
        max_workers=WORKERS,
        decoder=_undecoded,
        no_reply=True,
    )
    subscriber(_handler(hop, event))


def _handler(hop: Hop, event: str) -> Callable[[NatsMessage], Awaitable[None]]:
    async def handle(message: NatsMessage) -> None:
        run = message.raw_message.subject.split(".")[1]
        if event == plan.PROPOSED:
            await hop.seal(run, message.body)
        else:
            await hop.pass_on(event, run, message.body)

    return handle


async def _undecoded(message: NatsMessage) -> NatsMessage:
    return message


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
