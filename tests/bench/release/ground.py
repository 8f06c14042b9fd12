"""Release inside this process, on real servers: its parts and projections, without the chassis.

Runs are brought as far as `gathered` through release's own handlers; what is measured begins with
`proposed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from pydantic import SecretStr

from chancery.attest.signing import SigningKey
from chancery.bus.connection import connect
from chancery.bus.provision import Plan, apply
from chancery.events import topology
from chancery.events.commands import CreateConversation, PostMessage
from chancery.events.envelope import Event
from chancery.events.run import Bounds, RunGathered, RunProposed, RunRequested
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id
from chancery.release.app import Parts, Resources, create_parts
from chancery.runtime.delivery import DELIVERIES_MAX, Delivery
from chancery.store.blobs import open_blobs
from chancery.store.pool import Pool, PoolLimits, open_pool
from chancery.store.pool import connect as connect_database
from chancery.store.queries import load_queries
from chancery.testkit.waiting import eventually
from tests.bench.crowd import at_once
from tests.bench.release.bare import SUBJECT
from tests.bench.servers import Servers
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of, request_of

CONNECTIONS: Final = 12
"""The pool of the service's default settings; the bare pair has as many."""

SOURCES: Final = 64
SOURCES_PER_RUN: Final = 4
PREPARERS: Final = 8
READY_WITHIN_S: Final = 30.0
ASKER: Final = "anna"
SENTENCE: Final = "Service reviews of part {number} are owned by Mara Lindt."
DELIVERY: Final = Delivery("RUNS", 1, "bench", "bench", 1, datetime.now(UTC), 0, None)

T = TypeVar("T")

_QUERIES = load_queries("tests.bench")
_BARE = replace(
    topology.stream(topology.AUTHORITY), name="BENCH_BARE", subjects=(SUBJECT,), republished_to=None
)


@dataclass(frozen=True, slots=True)
class Ground:
    """Release with a workspace of published sources and an open conversation."""

    servers: Servers
    world: World
    parts: Parts
    pool: Pool
    sources: tuple[Published, ...]
    conversation_id: str

    async def proposals(self, count: int) -> list[Event]:
        """Return what is proposed for as many gathered runs, each about four of the sources."""
        found: list[Event] = []

        async def prepare(number: int) -> None:
            found.append(await _patiently(lambda: self._proposal(number)))

        await at_once(PREPARERS, range(count), prepare)
        return found

    async def seal(self, proposal: Event) -> None:
        """Take one run through all eight steps, again when something was away, as workers do."""
        await _patiently(lambda: self.parts.seal(proposal, DELIVERY))

    async def outcomes(self) -> tuple[int, int]:
        """Return how many runs were sealed and how many refused so far."""
        async with connect_database(self.servers.database.superuser_dsn, name="bench") as db:
            row = await db.fetchrow(_QUERIES["count_outcomes"])
        assert row is not None
        return row["sealed"], row["refused"]

    async def _proposal(self, number: int) -> Event:
        first = number * SOURCES_PER_RUN
        chosen = [self.sources[(first + each) % SOURCES] for each in range(SOURCES_PER_RUN)]
        run_id = random_id()
        requested = await self._post(run_id, tuple(each.source_id for each in chosen))
        await self.parts.admit(event_of(requested, subject=run_id, actor=ASKER), DELIVERY)
        run = await self.parts.stages.runs.read(TENANT, run_id)
        admitted = None if run is None else run.admission()
        assert admitted is not None
        gathered = RunGathered(
            run_id=run_id,
            generation=1,
            lease=admitted.lease,
            passages=tuple(each.passage() for each in chosen),
            index_position=admitted.index_sequence,
        )
        await self.parts.stages.gathered(event_of(gathered, subject=run_id), DELIVERY)
        proposed = RunProposed(
            run_id=run_id,
            generation=1,
            lease=admitted.lease,
            selector="extractive",
            selections=tuple(each.quote(each.text.splitlines()[0]) for each in chosen),
        )
        return event_of(proposed, subject=run_id)

    async def _post(self, run_id: str, sources: tuple[str, ...]) -> RunRequested:
        question = await self.world.blobs.put_run(TENANT, run_id, b"Who owns the reviews?")
        bounds = Bounds(max_duration_s=600)
        body = PostMessage(
            conversation_id=self.conversation_id,
            run_id=run_id,
            question_sha256=question,
            sources=sources,
            bounds=bounds,
            mode="auto",
        )
        posted = await self.parts.commands.post_message(request_of("post", body, who=ASKER))
        return RunRequested(
            run_id=run_id,
            workspace_id=posted.workspace_id,
            conversation_id=self.conversation_id,
            message=posted.message,
            credential_id=f"c-{ASKER}",
            question_sha256=question,
            sources=sources,
            bounds=bounds,
            mode="auto",
        )


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do something again when the log was behind or something was away, as workers do."""
    for _ in range(DELIVERIES_MAX - 1):
        with suppress(Unavailable):
            return await work()
    return await work()


@asynccontextmanager
async def standing(servers: Servers) -> AsyncGenerator[Ground]:
    """Provision the servers, start release's loops and publish the sources."""
    dsn = servers.dsn
    limits = PoolLimits(connections_min=CONNECTIONS, connections_max=CONNECTIONS)
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(connect(servers.nats_url, name="bench-release"))
        await apply(bus, Plan(streams=(*topology.STREAMS, _BARE)))
        await _make_bare(servers)
        pool = await open_pool(dsn, name="bench-release", limits=limits)
        await stack.enter_async_context(pool)
        blobs = open_blobs(f"file://{servers.folder}")
        key = SigningKey(bytes(range(32)))
        parts = await create_parts(Resources(bus, pool, SecretStr(dsn), blobs, key))
        await stack.enter_async_context(_loops(parts))
        world = World(bus, blobs, parts, servers.database)
        await world.found()
        await eventually(lambda: _is_caught_up(parts), READY_WITHIN_S)
        sources = [await world.publish_source(f"s{each}", _text(each)) for each in range(SOURCES)]
        create = request_of("create", CreateConversation(workspace_id=WORKSPACE), who=ASKER)
        conversation = await parts.commands.create_conversation(create)
        yield Ground(servers, world, parts, pool, tuple(sources), conversation.conversation_id)


@asynccontextmanager
async def _loops(parts: Parts) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        loops = [
            group.create_task(loop)
            for loop in (parts.authority.run(), parts.index.run(), parts.relay.run())
        ]
        try:
            yield
        finally:
            for each in loops:
                each.cancel()


def _is_caught_up(parts: Parts) -> bool:
    return parts.authority.is_caught_up and parts.index.is_caught_up


def _text(number: int) -> str:
    lines = [SENTENCE.format(number=number + extra) for extra in range(20)]
    return "".join(f"{line}\n" for line in lines)


async def _make_bare(servers: Servers) -> None:
    async with connect_database(servers.database.superuser_dsn, name="bench") as db:
        for name in ("create_schema", "create_bare", "grant_bare", "grant_insert"):
            await db.execute(_QUERIES[name])
