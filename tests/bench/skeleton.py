"""The bare skeleton of the path: the same hops over the same servers, with no work in them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import psutil

from chancery.bus.connection import Connection, connect
from chancery.bus.provision import apply
from chancery.bus.publish import Outgoing, publish_message
from chancery.kernel.ids import random_id
from chancery.store import pool
from chancery.store.queries import load_queries
from chancery.testkit.postgres import create_database, drop_database
from tests.bench import plan
from tests.bench.hop import DSN_VARIABLE, NATS_VARIABLE, READY

if TYPE_CHECKING:
    from collections.abc import Generator

    from nats.aio.msg import Msg

PAYLOAD: Final = b"{" + b" " * 900 + b"}"
"""As large as the events of a run are."""

READY_WITHIN_S: Final = 30.0
SEALED_WITHIN_S: Final = 15.0

_QUERIES = load_queries("tests.bench")


@dataclass(slots=True)
class Skeleton:
    """The running skeleton as its one client sees it."""

    bus: Connection
    processes: list[psutil.Process]
    ended: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])

    async def ask(self) -> float:
        """Send one run through all hops and return how many seconds it took."""
        run = random_id()
        self.ended[run] = asyncio.Event()
        begun = time.perf_counter()
        subject = plan.stage_subject(run, plan.REQUESTED)
        await publish_message(
            self.bus, Outgoing(subject=subject, payload=PAYLOAD, message_id=random_id())
        )
        async with asyncio.timeout(SEALED_WITHIN_S):
            await self.ended[run].wait()
        del self.ended[run]
        return time.perf_counter() - begun

    async def note(self, message: Msg) -> None:
        """Note that a run ended."""
        ended = self.ended.get(message.subject.rpartition(".")[2])
        if ended is not None:
            ended.set()


@asynccontextmanager
async def running_skeleton(nats_url: str, superuser_dsn: str) -> AsyncGenerator[Skeleton]:
    """Start the processes of the skeleton on these servers; leave nothing behind."""
    database = await create_database(superuser_dsn)
    try:
        async with pool.connect(database.superuser_dsn, name="bench") as connection:
            await connection.execute(_QUERIES["create_schema"])
            await connection.execute(_QUERIES["create_marks"])
        async with connect(nats_url, name="bench-client") as bus:
            await apply(bus, plan.PLAN)
            settings = {NATS_VARIABLE: nats_url, DSN_VARIABLE: database.superuser_dsn}
            with _processes(settings) as processes:
                skeleton = Skeleton(bus, processes)
                subscription = await bus.subscribe(f"{plan.NUDGES}.*", skeleton.note)
                yield skeleton
                await subscription.unsubscribe()
            for stream in plan.STREAMS:
                await bus.jetstream.delete_stream(stream.name)
    finally:
        await drop_database(superuser_dsn, database.name)


async def server_version(superuser_dsn: str) -> str:
    """Return the version of PostgreSQL."""
    async with pool.connect(superuser_dsn, name="bench") as connection:
        return str(await connection.fetchval(_QUERIES["read_version"]))


@contextmanager
def _processes(settings: dict[str, str]) -> Generator[list[psutil.Process]]:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.hop", name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, **settings},
        )
        for name in plan.PROCESSES
    ]
    try:
        for process in started:
            _await_ready(process)
        yield [psutil.Process(process.pid) for process in started]
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=READY_WITHIN_S)


def _await_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    if line.strip() != READY.encode():
        message = "a process of the skeleton ended before it was ready; its errors stand above"
        raise RuntimeError(message)
