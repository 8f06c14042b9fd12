"""A canonical form that is gone, in a real ledger and log: unavailable, and back by itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.indexing.adapters.lost_forms import PostgresLostForms
from chancery.indexing.app import Worker
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.kernel.canonical import sha256_hex
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log

pytestmark = pytest.mark.integration

TEXT = b"The town hall opens at nine.\n"
LOST = "unavailable 1 extraction_missing"


async def lost_after_ready(log: Log, worker: Worker, source_id: str) -> ResourceRef:
    """Index a source, take its bytes away, and have it reconciled."""
    ref = await log.declare(source_id)
    text = TEXT + source_id.encode()
    await worker.handle(await log.publish(ref, text), await log.delivery(ref))
    await log.blobs.delete(ref.tenant, sha256_hex(text))
    await worker.refreshing.wishes.record(Wish(ref, WHOLE, f"wish-{source_id}"))

    async def is_told() -> bool:
        return (await log.told(ref))[-1] == LOST

    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.refreshing.run())
        await eventually(is_told)
        running.cancel()
    return ref


@pytest.mark.req("CL-1", "CL-4")
async def test_it_is_told_once_and_it_is_ready_once_the_bytes_are_back(
    log: Log, worker: Worker
) -> None:
    ref = await lost_after_ready(log, worker, "handbook")

    await worker.recovering.look_for_all()
    missing = await log.told(ref)
    await log.blobs.put(ref.tenant, TEXT + b"handbook")
    await worker.recovering.look_for_all()
    await worker.recovering.look_for_all()

    assert missing == ["extracted 1", "ready 1", LOST]
    assert await log.told(ref) == [*missing, "ready 1"]
    assert len({each.message_id for each in await log.index(ref)}) == 4


@pytest.mark.req("CL-1")
async def test_the_round_that_runs_in_the_background_finds_it(log: Log, worker: Worker) -> None:
    ref = await lost_after_ready(log, worker, "handbook")
    recovering = replace(worker.recovering, every_s=0.05)

    async def is_ready() -> bool:
        return (await log.told(ref))[-1] == "ready 1"

    async with asyncio.TaskGroup() as group:
        running = group.create_task(recovering.run())
        await log.blobs.put(ref.tenant, TEXT + b"handbook")
        await eventually(is_ready)
        running.cancel()

    assert (await log.told(ref))[-2:] == [LOST, "ready 1"]


@pytest.mark.req("CL-1", "CL-4")
async def test_only_what_is_lost_is_sampled_and_what_was_withdrawn_is_not_brought_back(
    log: Log, worker: Worker, database: Database
) -> None:
    one, two = [await lost_after_ready(log, worker, name) for name in ("one", "two")]
    other = await log.declare("other")
    await worker.handle(await log.publish(other, TEXT), await log.delivery(other))
    await log.record(one, RevisionWithdrawn())

    async with await open_pool(database.dsn("indexing"), name="tests") as pool:
        lost = PostgresLostForms(pool)
        before, single = await lost.sample(10), await lost.sample(1)
        await log.blobs.put(one.tenant, TEXT + b"one")
        await worker.recovering.look_for_all()
        after = await lost.sample(10)

    assert sorted(before) == sorted([one, two])
    assert single[0] in before
    assert after == [two]
    assert (await log.told(one))[-1] == "excluded 1 withdrawn"
    assert (await log.told(other))[-1] == "ready 1"
