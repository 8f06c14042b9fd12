"""One process of the skeleton: `python -m tests.bench.hop release|retrieval|execution`.

It receives, publishes the next stage's events and acknowledges, with no work between. The process
`release` also nudges, answers how far a run is, takes a cut, waits until it has read it back, and
commits one transaction.
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
from chancery.runtime.process import run
from chancery.store.queries import load_queries
from tests.bench import plan

NATS_VARIABLE: Final = "BENCH_NATS_URL"
DSN_VARIABLE: Final = "BENCH_DSN"
READY: Final = "ready"
WORKERS: Final = 4
TIMEOUT_S: Final = 10.0

_INSERT_MARK = load_queries("tests.bench")["insert_mark"]


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
    """What the handlers of one process share; only release has a pool."""

    bus: Connection
    passed: Passed
    pool: asyncpg.Pool[asyncpg.Record] | None
    ended: set[str] = field(default_factory=set[str])

    async def pass_on(self, name: str, run_id: str, payload: bytes) -> None:
        """Publish what follows on a message of a durable, and nudge as release does."""
        for event in plan.PASSED_ON[name]:
            await self._append(plan.stage_subject(run_id, event), payload)
        if self.pool is not None:
            await self.bus.send(f"{plan.NUDGES}.{run_id}", plan.OPEN)

    async def seal(self, run_id: str, payload: bytes) -> None:
        """Take a cut, wait for it, commit, tell whoever waits, and publish the end."""
        assert self.pool is not None
        cut = await self._append(plan.CUT, payload)
        await self.passed.wait(cut)
        async with (
            self.pool.acquire(timeout=TIMEOUT_S) as connection,
            connection.transaction(),
        ):
            await connection.execute(_INSERT_MARK, run_id, cut, timeout=TIMEOUT_S)
        self.ended.add(run_id)
        await self.bus.send(f"{plan.NUDGES}.{run_id}", plan.ENDED)
        await self._append(plan.release_subject(run_id), payload)

    async def answer(self, message: NatsMessage) -> None:
        """Answer whether a run has ended."""
        has_ended = message.body.decode() in self.ended
        await message.raw_message.respond(plan.ENDED if has_ended else plan.OPEN)

    async def _append(self, subject: str, payload: bytes) -> int:
        outgoing = Outgoing(subject=subject, payload=payload, message_id=random_id())
        return (await publish_message(self.bus, outgoing)).sequence


async def serve(name: str) -> None:
    """Run one process of the skeleton until it is ended."""
    url = os.environ[NATS_VARIABLE]
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(connect(url, name=f"bench-{name}"))
        pool = None
        if name == "release":
            opened = asyncpg.create_pool(os.environ[DSN_VARIABLE], min_size=2, max_size=4)
            pool = await stack.enter_async_context(opened)
        hop = Hop(bus, Passed(), pool)
        broker = NatsBroker(url, apply_types=False, logger=None)
        for durable in plan.PROCESSES[name]:
            _subscribe(broker, hop, durable)
        async with asyncio.TaskGroup() as group:
            if pool is not None:
                group.create_task(hop.passed.follow(bus))
                _respond(broker, hop)
            await broker.connect()
            await broker.start()
            print(READY, flush=True)
            await asyncio.Event().wait()


def _subscribe(broker: NatsBroker, hop: Hop, name: str) -> None:
    consumer = plan.WORKERS[name]
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
    subscriber(_handler(hop, name))


def _respond(broker: NatsBroker, hop: Hop) -> None:
    subscriber: Any = broker.subscriber(
        plan.ASKED, queue="bench", max_workers=WORKERS, decoder=_undecoded, no_reply=True
    )
    subscriber(hop.answer)


def _handler(hop: Hop, name: str) -> Callable[[NatsMessage], Awaitable[None]]:
    async def handle(message: NatsMessage) -> None:
        run_id = message.raw_message.subject.split(".")[1]
        if name in plan.PASSED_ON:
            await hop.pass_on(name, run_id, message.body)
        else:
            await hop.seal(run_id, message.body)

    return handle


async def _undecoded(message: NatsMessage) -> NatsMessage:
    return message


if __name__ == "__main__":
    sys.exit(run(lambda: serve(sys.argv[1])))
