"""Running the real release service for a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from chancery.attest.signing import SigningKey
from chancery.bus.connection import connect
from chancery.bus.provision import Plan, apply
from chancery.events import queries
from chancery.events.topology import query_subject
from chancery.release.app import Resources, create_parts, pool_limits, register
from chancery.release.settings import ReleaseSettings
from chancery.runtime.service import Service
from chancery.store.blobs import open_blobs
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.world import TENANT, World

KEY = SigningKey(bytes(range(32)))


@asynccontextmanager
async def playing(
    nats_url: str,
    database: Database,
    folder: Path,
    *,
    provision: bool = True,
    replicas: int = 1,
) -> AsyncGenerator[World]:
    """Run release on real servers and yield the world around it."""
    settings = ReleaseSettings(nats_url=nats_url, workers=4, stop_s=5)
    blobs = open_blobs(f"file://{folder}")
    service = Service("release", settings)
    dsn = database.dsn("release")
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(connect(nats_url, name="test-world"))
        if provision:
            await apply(bus, Plan(ack_wait_s=2, replicas=replicas))
        opened = await stack.enter_async_context(service.open())
        pool = await stack.enter_async_context(
            await open_pool(dsn, name="test", limits=pool_limits(10))
        )
        parts = await create_parts(Resources(opened.connection, pool, SecretStr(dsn), blobs, KEY))
        register(service, parts, pool, workers=4)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(service.run())
        stack.callback(service.stop)
        yield await _ready(World(bus, blobs, parts, database), provision)


async def _ready(world: World, is_new: bool) -> World:
    if is_new:
        await world.found()
    await eventually(lambda: world.parts.authority.is_caught_up)
    await eventually(lambda: world.parts.index.is_caught_up)
    subject = query_subject("release", "identity")

    async def answers() -> bool:
        return (await world.request(subject, queries.WhoAmI(), queries.Identity)).tenant == TENANT

    await eventually(answers)
    return world
