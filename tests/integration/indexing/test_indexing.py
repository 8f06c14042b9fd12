"""Indexing on a real log and database: redelivery, races, lost locks and killed processes."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from chancery.events.authority import Measure, RevisionWithdrawn, SourceRestored
from chancery.events.codec import decode
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.evidence.manifest import DatasetManifest, Manifest
from chancery.indexing.app import Worker
from chancery.indexing.domain.history import ResourceRef
from chancery.kernel.errors import Corrupt
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log, Place, running
from tests.unit.indexing.world import declared_dataset

pytestmark = pytest.mark.integration

_TOTAL = Measure(name="total", aggregate="sum", column="amount")


@pytest.mark.req("EV-6")
async def test_a_second_delivery_appends_nothing(log: Log, worker: Worker) -> None:
    ref = await log.declare()
    event = await log.publish(ref, b"Team Alpha owns service reviews.")
    delivery = await log.delivery(ref)

    await worker.handle(event, delivery)
    await worker.handle(event, delivery)

    assert await log.told(ref) == ["extracted 1", "ready 1"]


@pytest.mark.req("EV-6")
async def test_two_workers_on_one_source_take_turns(log: Log, worker: Worker) -> None:
    ref = await log.declare()
    events = [await log.publish(ref, f"text {n}".encode(), revision=n) for n in range(1, 7)]
    delivery = await log.delivery(ref)

    async with asyncio.TaskGroup() as group:
        for event in [*events, *events]:
            group.create_task(worker.handle(event, delivery))

    told = await log.told(ref)
    assert told.count("ready 6") == 1
    assert sorted(each for each in told if each.startswith("extracted")) == [
        f"extracted {n}" for n in range(1, 7)
    ]
    assert len({each.message_id for each in await log.index(ref)}) == len(told)


@pytest.mark.req("CL-4")
async def test_withdrawal_and_restoration_follow_the_log(log: Log, worker: Worker) -> None:
    ref = await log.declare()
    publication = await log.publish(ref, b"one")
    withdrawal = await log.record(ref, RevisionWithdrawn())
    delivery = await log.delivery(ref)

    await worker.handle(publication, delivery)
    early = await log.told(ref)
    await worker.handle(withdrawal, delivery)
    await worker.handle(await log.record(ref, SourceRestored()), delivery)

    assert early == ["excluded 1 withdrawn"]
    assert (await log.told(ref))[1:] == ["pending 1", "extracted 1", "ready 1"]


@pytest.mark.req("CL-4")
async def test_a_message_that_the_ledger_forgot_is_followed_before_more_is_said(
    log: Log, worker: Worker, database: Database
) -> None:
    ref = await log.declare()
    event = await log.publish(ref, b"one")
    delivery = await log.delivery(ref)
    await worker.handle(event, delivery)
    await _forget_all(database)

    await worker.handle(event, delivery)
    await worker.handle(await log.record(ref, RevisionWithdrawn()), delivery)

    assert await log.told(ref) == ["extracted 1", "ready 1", "excluded 1 withdrawn"]


async def test_the_first_extraction_wins_over_another_one_of_the_same_extractor(
    log: Log, worker: Worker, database: Database
) -> None:
    ref = await log.declare()
    event = await log.publish(ref, b"one")
    await worker.handle(event, await log.delivery(ref))
    extracted = decode((await log.index(ref))[0].payload)
    await _forget_all(database)
    await log.blobs.delete("acme", _extracted(extracted.data).manifest_sha256)

    await worker.handle(event, await log.delivery(ref))

    ready = decode((await log.index(ref))[-1].payload).data
    assert isinstance(ready, RevisionReady)
    assert ready.manifest_sha256 == _extracted(extracted.data).manifest_sha256
    assert await log.told(ref) == ["extracted 1", "ready 1"]


async def test_a_document_and_a_dataset_are_stored_as_the_events_say(
    log: Log, worker: Worker
) -> None:
    document = await log.declare()
    dataset = await log.declare_dataset(_TOTAL)
    csv = b"id,amount\n1,1250\n2,2750\n"

    await worker.handle(await log.publish(document, b"one"), await log.delivery(document))
    await worker.handle(
        await log.publish(dataset, csv, media_type="text/csv"), await log.delivery(dataset)
    )

    first = _extracted(decode((await log.index(document))[0].payload).data)
    second = _extracted(decode((await log.index(dataset))[1].payload).data)
    parts = Manifest.from_bytes(await log.blobs.get("acme", first.manifest_sha256, limit=10**6))
    cards = DatasetManifest.from_bytes(
        await log.blobs.get("acme", second.manifest_sha256, limit=10**6)
    )
    assert (parts.length, parts.key) == (3, document.key)
    assert (cards.rows, [card.label for card in cards.cards]) == (2, ["SUM(orders.amount)"])


@pytest.mark.req("CL-4", "CR-27")
async def test_a_declaration_that_is_changed_back_at_once_serves_as_before(
    log: Log, worker: Worker
) -> None:
    ref = await log.declare_dataset()
    csv = b"id,amount\n1,1250\n2,2750\n"
    declarations = (declared_dataset(hidden=("amount",)), declared_dataset())
    await worker.handle(await log.publish(ref, csv, media_type="text/csv"), await log.delivery(ref))

    for declaration in (*declarations, *declarations):
        await worker.handle(await log.record(ref, declaration), await log.delivery(ref))

    told = [decode(each.payload).data for each in await log.index(ref)]
    extracted = [each for each in told if isinstance(each, RevisionExtracted)]
    ready = [each for each in told if isinstance(each, RevisionReady)]
    assert len(extracted) == len(ready) == 5
    assert [each.manifest_sha256 for each in ready] == [each.manifest_sha256 for each in extracted]
    assert ready[0].manifest_sha256 == ready[2].manifest_sha256 == ready[4].manifest_sha256
    assert ready[1].manifest_sha256 == ready[3].manifest_sha256 != ready[0].manifest_sha256


async def test_an_event_on_another_subject_than_its_own_is_refused(
    log: Log, worker: Worker
) -> None:
    mine, other = await log.declare(), await log.declare("other")
    event = await log.publish(mine, b"one")

    with pytest.raises(Corrupt):
        await worker.handle(event, await log.delivery(other))

    assert await log.told(mine) == await log.told(other) == []


@pytest.mark.req("EV-7")
async def test_a_poison_event_is_parked_and_the_next_ones_are_indexed(
    log: Log, place: Place, database: Database
) -> None:
    poisoned, healthy = await log.declare("poisoned"), await log.declare("healthy")
    await log.connection.request(f"authority.acme.source.{poisoned.key}", b"no event", timeout_s=30)
    await log.publish(healthy, b"one")

    with running("indexing", place) as process:
        await eventually(lambda: _has(log, healthy, "ready 1"), within_s=60)
        await eventually(lambda: _is_parked(database, "malformed_event"))

    assert process.exitcode == 0

    assert await log.told(poisoned) == []


@pytest.mark.req("CL-4", "EV-6")
async def test_killed_again_and_again_it_converges_to_the_same_states(
    log: Log, place: Place
) -> None:
    refs = [await log.declare(f"s{number}") for number in range(6)]
    for ref in refs:
        for revision in (1, 2):
            await log.publish(ref, f"{ref.key} {revision}".encode(), revision=revision)

    for ready in (1, 3):
        with running("indexing", place) as process:
            await eventually(lambda n=ready: _at_least(log, refs, n), within_s=60)
            process.kill()
    await log.record(refs[0], RevisionWithdrawn())
    with running("indexing", place):
        await eventually(lambda: _has(log, refs[0], "excluded 2 withdrawn"), within_s=60)
        for ref in refs[1:]:
            await eventually(lambda r=ref: _has(log, r, "ready 2"), within_s=60)

    for ref in refs:
        told = await log.told(ref)
        ids = [each.message_id for each in await log.index(ref)]
        assert len(set(ids)) == len(ids)
        assert sum(each.startswith("extracted 2") for each in told) <= 1
    assert (await log.told(refs[0]))[-1] == "excluded 2 withdrawn"


def _extracted(data: object) -> RevisionExtracted:
    assert isinstance(data, RevisionExtracted)
    return data


async def _has(log: Log, ref: ResourceRef, wanted: str) -> bool:
    return wanted in await log.told(ref)


async def _at_least(log: Log, refs: list[ResourceRef], count: int) -> bool:
    ready = [ref for ref in refs if await _has(log, ref, "ready 2")]
    return len(ready) >= count


async def _is_parked(database: Database, reason: str) -> bool:
    owner = await asyncpg.connect(database.superuser_dsn)
    rows = await owner.fetch("SELECT reason FROM indexing.parked")
    await owner.close()
    return reason in {row["reason"] for row in rows}


async def _forget_all(database: Database) -> None:
    owner = await asyncpg.connect(database.superuser_dsn)
    await owner.execute("TRUNCATE indexing.revision, indexing.resource")
    await owner.close()
