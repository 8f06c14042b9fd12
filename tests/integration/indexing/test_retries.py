"""A table that the machine could not make for a moment, in a real ledger and log: made later on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from chancery.events.codec import decode
from chancery.events.index import RevisionFailed, RevisionPending
from chancery.extract.pool import ExtractionPool
from chancery.indexing.adapters.retries import PostgresRetries
from chancery.indexing.app import Worker, create_worker
from chancery.indexing.domain.attempts import WAITS_S
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import SlowRevision
from chancery.store.pool import open_pool
from chancery.tabular.jobs import Limits
from chancery.tabular.pool import WorkerPool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log

pytestmark = pytest.mark.integration

CSV = b"id,amount\n1,1250\n2,2750\n"
NO_MEMORY = Limits(convert_address_space_bytes=1)


@asynccontextmanager
async def worker_on(
    log: Log, database: Database, limits: Limits, waits_s: tuple[float, ...] = WAITS_S
) -> AsyncGenerator[tuple[Worker, PostgresRetries]]:
    """Yield a worker on a machine that gives a conversion so much, and what it finds due."""
    async with (
        await open_pool(database.dsn("indexing"), name="tests") as pool,
        ExtractionPool() as reader,
        WorkerPool(limits) as converter,
    ):
        worker = create_worker(log.connection, pool, log.blobs, reader, converter)
        yield worker, PostgresRetries(pool, waits_s)


async def attempts(log: Log, ref: ResourceRef) -> list[tuple[str | None, int | None]]:
    """Return the reasons and attempts that were told."""
    told = [decode(each.payload).data for each in await log.index(ref)]
    return [
        (each.reason, each.attempt)
        for each in told
        if isinstance(each, RevisionPending | RevisionFailed)
    ]


async def carried_out(worker: Worker, retries: PostgresRetries) -> None:
    """Let the attempt that is due be made."""
    (due,) = await retries.due(9)
    await worker.slowly.record(due)

    async def is_done() -> bool:
        return await retries.due(9) == []

    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.slowly.run())
        await eventually(is_done, within_s=30)
        running.cancel()


@pytest.mark.req("EV-6", "CL-1")
async def test_a_snapshot_is_made_once_the_machine_has_memory_again(
    log: Log, database: Database
) -> None:
    ref = await log.declare_dataset()
    event = await log.publish(ref, CSV, media_type="text/csv")
    async with worker_on(log, database, NO_MEMORY, (0.0, 3600.0)) as (busy, retries):
        await busy.handle(event, await log.delivery(ref))
        due_at_once = await retries.due(9)
        not_yet = await PostgresRetries(retries.pool).due(9)
        await carried_out(busy, retries)
    while_failing = await attempts(log, ref)
    async with worker_on(log, database, Limits(), (0.0, 0.0)) as (free, retries):
        await carried_out(free, retries)

    assert due_at_once == [SlowRevision(ref, 1)]
    assert not_yet == []
    assert while_failing == [(None, None), ("sql_resources", 2), ("sql_resources", 3)]
    assert (await log.told(ref))[-2:] == ["extracted 1", "ready 1"]


@pytest.mark.req("EV-6")
async def test_what_an_earlier_build_gave_up_is_due_and_a_bad_file_is_not(
    log: Log, database: Database
) -> None:
    ref = await log.declare_dataset()
    event = await log.publish(ref, CSV + b"3\n", media_type="text/csv")
    owner = await asyncpg.connect(database.superuser_dsn)
    async with worker_on(log, database, Limits()) as (worker, retries):
        await worker.handle(event, await log.delivery(ref))
        of_a_bad_file = await retries.due(9)
        await owner.execute("UPDATE indexing.revision SET failure = 'sql_resources'")
        given_up = await retries.due(9)
    await owner.close()

    assert (await log.told(ref))[-1] == "failed 1 csv_ragged_row"
    assert of_a_bad_file == []
    assert given_up == [SlowRevision(ref, 1)]
