"""A canonical form that is gone, in a real ledger and log: unavailable, and back by itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.events.codec import decode
from chancery.events.index import RevisionExtracted
from chancery.extract import extraction as documents
from chancery.extract.media import HTML
from chancery.indexing.adapters.lost_forms import PostgresLostForms
from chancery.indexing.app import Worker
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.indexing.handlers.progress import Asking, Cause
from chancery.kernel.canonical import sha256_hex
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log

pytestmark = pytest.mark.integration

TEXT = b"The town hall opens at nine.\n"
PAGE = b"<p>The town hall opens at nine."
LOST = "unavailable 1 extraction_missing"


async def lost_after_ready(log: Log, worker: Worker, source_id: str) -> ResourceRef:
    """Index a source, take its bytes away, and have it reconciled."""
    ref = await log.declare(source_id)
    text = TEXT + source_id.encode()
    await worker.handle(await log.publish(ref, text), await log.delivery(ref))
    await log.blobs.delete(ref.tenant, sha256_hex(text))
    await reconciled(log, worker, ref)
    return ref


async def reconciled(log: Log, worker: Worker, ref: ResourceRef) -> None:
    """Have a source reconciled of which a form is lost."""
    await worker.refreshing.wishes.record(Wish(ref, WHOLE, f"wish-{ref.key}"))

    async def is_known() -> bool:
        return ref in await worker.recovering.lost.sample(10)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.refreshing.run())
        await eventually(is_known)
        running.cancel()
    assert (await log.told(ref))[-1] == LOST


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


@pytest.mark.req("CL-1", "EV-6")
async def test_a_lost_form_of_an_earlier_extractor_is_made_by_todays_whoever_stops_in_between(
    log: Log, worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = await log.declare()
    with monkeypatch.context() as earlier:
        earlier.setattr(documents, "_identity", earlier_identity)
        event = await log.publish(ref, PAGE, media_type=HTML)
        await worker.handle(event, await log.delivery(ref))
        told = decode((await log.index(ref))[1].payload).data
        assert isinstance(told, RevisionExtracted)
        for each in (told.extraction_sha256, told.manifest_sha256, told.content_sha256):
            await log.blobs.delete(ref.tenant, each)
        await reconciled(log, worker, ref)
    await log.blobs.put(ref.tenant, PAGE)

    # Whoever looks says that it is pending, and stops there.
    await worker.recovering.announcements.announce(Asking(ref, Cause("c", None, None), {}))
    async with await open_pool(database.dsn("indexing"), name="tests") as pool:
        sampled = await PostgresLostForms(pool).sample(10)
    await worker.recovering.look_for_all()

    async def is_made() -> bool:
        return ref not in await worker.recovering.lost.sample(10)

    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.slowly.run())
        await eventually(is_made)
        running.cancel()

    assert list(sampled) == [ref]
    assert (await log.told(ref))[3:] == [LOST, "pending 1", "extracted 1", "ready 1"]


def earlier_identity(kind: str) -> str:
    """Name the extractor of an earlier build."""
    return f"{kind.partition('/')[2]}/0"
