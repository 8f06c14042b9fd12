"""The bare skeleton of the path: the same hops over the same servers, with no work in them.

A hop is whatever the real path sends from one process to another between a client's question and
what it hears of the end: the POST, the request to release behind it, each publication with its
acknowledgement and its subscribers, the cut and the wait for it, one transaction, the nudges, and
the stream of events with a request to release at each. Barriers, all other statements, blobs,
authentication, validation, traces and the work itself are not hops.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import httpx
import psutil

from chancery.bus.connection import connect
from chancery.bus.provision import apply
from chancery.store import pool
from chancery.store.queries import load_queries
from chancery.testkit.postgres import create_database, drop_database
from tests.bench import plan
from tests.bench.hop import DSN_VARIABLE, NATS_VARIABLE, READY

if TYPE_CHECKING:
    from collections.abc import Generator

READY_WITHIN_S: Final = 30.0
SEALED_WITHIN_S: Final = 15.0

_END: Final = f"data: {plan.ENDED.decode()}"
_QUERIES = load_queries("tests.bench")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The running skeleton as its one client sees it."""

    http: httpx.AsyncClient
    processes: list[psutil.Process]

    async def ask(self) -> float:
        """Send one run through all hops and return how many seconds it took."""
        begun = time.perf_counter()
        async with asyncio.timeout(SEALED_WITHIN_S):
            posted = (await self.http.post("/runs")).raise_for_status()
            await self._hear_end(posted.json()["run_id"])
        return time.perf_counter() - begun

    async def _hear_end(self, run: str) -> None:
        async with self.http.stream("GET", f"/runs/{run}/events") as told:
            async for line in told.aiter_lines():
                if line == _END:
                    return
        message = "the skeleton ended its events before its run"
        raise RuntimeError(message)


@asynccontextmanager
async def running_skeleton(nats_url: str, superuser_dsn: str) -> AsyncGenerator[Skeleton]:
    """Start the processes of the skeleton on these servers; leave nothing behind."""
    async with _database(superuser_dsn) as dsn, _streams(nats_url):
        with _processes({NATS_VARIABLE: nats_url, DSN_VARIABLE: dsn}) as (processes, port):
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                yield Skeleton(http, processes)


@asynccontextmanager
async def _database(superuser_dsn: str) -> AsyncGenerator[str]:
    database = await create_database(superuser_dsn)
    try:
        async with pool.connect(database.superuser_dsn, name="bench") as connection:
            await connection.execute(_QUERIES["create_schema"])
            await connection.execute(_QUERIES["create_marks"])
        yield database.superuser_dsn
    finally:
        await drop_database(superuser_dsn, database.name)


@asynccontextmanager
async def _streams(nats_url: str) -> AsyncGenerator[None]:
    async with connect(nats_url, name="bench-plan") as bus:
        await apply(bus, plan.PLAN)
        yield
        for stream in plan.STREAMS:
            await bus.jetstream.delete_stream(stream.name)


async def server_version(superuser_dsn: str) -> str:
    """Return the version of PostgreSQL."""
    async with pool.connect(superuser_dsn, name="bench") as connection:
        return str(await connection.fetchval(_QUERIES["read_version"]))


@contextmanager
def _processes(settings: dict[str, str]) -> Generator[tuple[list[psutil.Process], str]]:
    """Yield the processes of the skeleton, and the port of the last one, its edge."""
    commands = [*(("tests.bench.hop", name) for name in plan.PROCESSES), ("tests.bench.edge",)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, **settings},
        )
        for command in commands
    ]
    try:
        told = [_await_ready(process) for process in started]
        yield [psutil.Process(process.pid) for process in started], told[-1]
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=READY_WITHIN_S)


def _await_ready(process: subprocess.Popen[bytes]) -> str:
    """Wait until a process is ready and return what it adds."""
    assert process.stdout is not None
    said, _, added = process.stdout.readline().decode().strip().partition(" ")
    if said != READY:
        message = "a process of the skeleton ended before it was ready; its errors stand above"
        raise RuntimeError(message)
    return added
