"""From publication to gathered passages, through both services as processes."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from chancery.bus.load import read_subject
from chancery.bus.publish import publish
from chancery.events.authority import Measure, RevisionWithdrawn
from chancery.events.codec import decode
from chancery.events.topology import RUNS, run_subject
from chancery.evidence.parts import part_id
from chancery.indexing.domain.history import ResourceRef
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Place, open_log, running
from tests.integration.retrieval.harness import TENANT, Desk

pytestmark = pytest.mark.integration

_TEXT = "# Handbook\n\n" + "Filler sentence about nothing. " * 200
_OWNER = "Team Alpha owns the quarterly service reviews."
_TOTAL = Measure(
    name="total", aggregate="sum", column="amount", description="total amount of all orders"
)


@pytest.fixture
def place(nats_url: str, database: Database, tmp_path: Path) -> Place:
    return Place(nats_url, database, tmp_path)


@pytest.fixture
async def desk(place: Place) -> AsyncGenerator[Desk]:
    async with open_log(place) as log:
        yield Desk(log)


@pytest.mark.req("KO-3")
async def test_a_publication_is_ready_and_found_at_its_exact_offsets(
    desk: Desk, place: Place
) -> None:
    text = f"{_TEXT}{_OWNER} {_TEXT}"
    document, dataset = await desk.log.declare(), await desk.log.declare_dataset(_TOTAL)
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(document, text.encode())
        await desk.log.publish(dataset, b"id,amount\n1,1250\n2,2750\n", media_type="text/csv")
        entries = (await desk.ready(document), await desk.ready(dataset))

        found = await desk.ask("Who owns the service reviews and what is the total?", *entries)
        rag = await desk.ask("What is the total amount?", *entries, mode="rag")
        data = await desk.ask("What is the total amount?", *entries, mode="data")

    best = found.passages[0]
    assert _OWNER in text[best.start : best.end]
    assert best.part_id == part_id(document.key, 1, best.extraction_sha256, best.start // 4800 + 1)
    assert [one.name for one in found.measures] == ["total"]
    assert found.unconfirmed == ()
    assert found.index_position >= max(entry.index_sequence for entry in entries)
    assert (rag.measures, data.passages) == ((), ())
    assert [one.key for one in data.measures] == [dataset.key]


@pytest.mark.req("CL-12")
async def test_a_source_outside_the_scope_never_appears(desk: Desk, place: Place) -> None:
    mine, other = await desk.log.declare("mine"), await desk.log.declare("other")
    with running("indexing", place), running("retrieval", place):
        for ref in (mine, other):
            await desk.log.publish(ref, _OWNER.encode())
        first, second = await desk.ready(mine), await desk.ready(other)

        narrow = await desk.ask("Who owns the service reviews?", first)
        wide = await desk.ask("Who owns the service reviews?", first, second)
        empty = await desk.ask("Who owns the service reviews?")

    assert {one.key for one in narrow.passages} == {mine.key}
    assert {one.key for one in wide.passages} == {mine.key, other.key}
    assert empty.passages == ()


async def test_the_index_is_built_again_when_its_folder_is_gone(desk: Desk, place: Place) -> None:
    ref = await desk.log.declare()
    with running("indexing", place):
        with running("retrieval", place) as process:
            await desk.log.publish(ref, _OWNER.encode())
            entry = await desk.ready(ref)
            before = await desk.ask("service reviews", entry)
        assert process.exitcode == 0
        shutil.rmtree(place.folder / "index")
        with running("retrieval", place):
            after = await desk.ask("service reviews", entry)

    assert len(before.passages) == 1
    assert after.passages == before.passages
    assert after.unconfirmed == ()


@pytest.mark.req("EV-6")
async def test_killed_between_runs_it_gathers_once_for_each(desk: Desk, place: Place) -> None:
    ref = await desk.log.declare()
    with running("indexing", place):
        await desk.log.publish(ref, _OWNER.encode())
        entry = await desk.ready(ref)
    runs: list[str] = []
    for _ in range(3):
        runs += [await desk.admit("service reviews", entry) for _ in range(4)]
        with running("retrieval", place) as process:
            await eventually(lambda r=runs[-3]: desk.gathered(r), within_s=60)
            process.kill()
    with running("retrieval", place):
        for run in runs:
            await eventually(lambda r=run: desk.gathered(r), within_s=60)

    for run in runs:
        subject = run_subject(TENANT, run, "gathered")
        stored = [each async for each in read_subject(desk.log.connection, RUNS, subject)]
        assert len(stored) == 1


@pytest.mark.req("EV-6")
async def test_an_admission_delivered_twice_is_gathered_once(desk: Desk, place: Place) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _OWNER.encode())
        run = await desk.admit("service reviews", await desk.ready(ref))
        await eventually(lambda: desk.gathered(run))
        admitted = run_subject(TENANT, run, "admitted")
        (stored,) = [each async for each in read_subject(desk.log.connection, RUNS, admitted)]
        event = decode(stored.payload)
        again = event.envelope.model_copy(update={"id": "again"})
        await publish(desk.log.connection, admitted, replace(event, envelope=again))
        other = await desk.ask("service reviews", await desk.ready(ref))

    gathered = run_subject(TENANT, run, "gathered")
    found = [each async for each in read_subject(desk.log.connection, RUNS, gathered)]
    assert len(found) == 1
    assert len(other.passages) == 1


@pytest.mark.req("CL-4")
async def test_a_withdrawn_source_leaves_the_index(desk: Desk, place: Place) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _OWNER.encode())
        entry = await desk.ready(ref)
        before = await desk.ask("service reviews", entry)
        await desk.log.record(ref, RevisionWithdrawn())
        await eventually(lambda: _withdrawn(desk, ref))
        last = (await desk.log.index(ref))[-1].sequence
        stale = entry.model_copy(update={"index_sequence": last})
        after = await desk.ask("service reviews", stale)

    assert len(before.passages) == 1
    assert (after.passages, after.unconfirmed) == ((), (ref.key,))


@pytest.mark.req("EV-7")
async def test_a_run_whose_scope_is_gone_is_parked_and_the_next_one_gathered(
    desk: Desk, place: Place, database: Database
) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _OWNER.encode())
        entry = await desk.ready(ref)
        lost = await desk.admit("service reviews", entry, lose_scope=True)
        await eventually(lambda: _parked(database, lost))
        found = await desk.ask("service reviews", entry)

    assert await desk.gathered(lost) is None
    assert len(found.passages) == 1


async def _withdrawn(desk: Desk, ref: ResourceRef) -> bool:
    return "excluded 1 withdrawn" in await desk.log.told(ref)


async def _parked(database: Database, run: str) -> bool:
    owner = await asyncpg.connect(database.superuser_dsn)
    rows = await owner.fetch("SELECT subject FROM retrieval.parked")
    await owner.close()
    return any(run in row["subject"] for row in rows)
