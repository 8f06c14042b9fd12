"""A running execution service on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from chancery.bus.connection import connect
from chancery.bus.provision import Plan, apply
from chancery.events.queries import QueryResult, RunQuery
from chancery.execution.adapters import ExtractiveSelector
from chancery.execution.app import create_selecting, register
from chancery.execution.handlers.cuts import Cuts
from chancery.execution.handlers.material import Reading
from chancery.execution.handlers.questions import Questions
from chancery.execution.settings import ExecutionSettings
from chancery.kernel.errors import Rejected, Unavailable
from chancery.runtime.parking import PostgresParking
from chancery.runtime.service import Service
from chancery.store.blobs import open_blobs
from chancery.store.pool import PoolLimits, open_pool
from chancery.tabular.pool import WorkerPool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.execution.world import World


@pytest.fixture
async def world(nats_url: str, database: Database, tmp_path: Path) -> AsyncGenerator[World]:
    """Yield what is around execution, once it answers."""
    blobs = open_blobs(tmp_path.as_uri())
    service = Service("execution", ExecutionSettings(nats_url=nats_url, workers=4, stop_s=5))
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(connect(nats_url, name="test-world"))
        await apply(bus, Plan(ack_wait_s=2))
        opened = await stack.enter_async_context(service.open())
        pool = await stack.enter_async_context(
            await open_pool(
                database.dsn("execution"), name="test", limits=PoolLimits(connections_max=4)
            )
        )
        sql = await stack.enter_async_context(WorkerPool(concurrency=1))
        reading = Reading(blobs, Cuts(sql))
        selecting = create_selecting(opened.connection, reading, sql, ExtractiveSelector())
        parking = PostgresParking(pool, "execution")
        register(service, selecting, Questions(reading, sql), parking=parking, workers=4)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(service.run())
        stack.callback(service.stop)
        around = World(bus, blobs, database)
        await eventually(lambda: _answers(around))
        yield around


async def _answers(world: World) -> bool:
    try:
        await world.ask("sql", RunQuery(workspace_id="w", sql="select", datasets=()), QueryResult)
    except Rejected:
        return True
    except Unavailable:
        return False
    return True
