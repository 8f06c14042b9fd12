"""Following the INDEX stream: what becomes searchable, what survives, what is built again."""

from __future__ import annotations

import asyncio
import shutil
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.kernel.errors import Unavailable
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.handlers import following
from chancery.testkit.folders import take_away
from chancery.testkit.waiting import eventually
from tests.unit.retrieval.world import NOW, TENANT, World

TWO_BLOBS = 2
"""A document has a manifest and a text."""


@dataclass(slots=True)
class HeldIndexes(TenantIndexes):
    """Indexes whose commits wait until they are let go."""

    begun: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def commit(self, tenant: str, position: int) -> None:
        self.begun.set()
        assert self.let_go.wait(5)
        TenantIndexes.commit(self, tenant, position)


async def test_a_ready_document_is_found_and_an_excluded_one_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    kept = await world.document("a", "Team Alpha owns service reviews.")
    gone = await world.document("b", "Team Beta owns service reviews.")
    world.exclude(gone)
    service = world.start()

    await service.catch_up()

    assert service.found("service reviews", kept, gone) == [kept.number]
    assert service.following.reason is None


@pytest.mark.req("CL-4")
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_late_result_never_revives_what_was_withdrawn(
    tmp_path: Path, restarts: bool
) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    world.exclude(pin)
    service = world.start()
    if restarts:
        await service.catch_up()
        service = world.start()
    world.announce(pin, as_of=1)
    await service.catch_up()
    late = service.found("service", pin)
    unconfirmed = service.indexes.within(TENANT, [pin.number]).unconfirmed
    world.announce(pin, as_of=9)
    again = world.start()
    await again.catch_up()

    assert (late, unconfirmed) == ([], {pin.number})
    assert again.found("service", pin) == [pin.number]


async def test_a_restart_reads_on_and_indexes_nothing_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    first = await world.document("a", "service reviews")
    await world.start().catch_up()
    world.blobs.stored.clear()
    second = await world.document("b", "service reviews")
    service = world.start()

    await service.catch_up()

    assert set(service.found("service", first, second)) == {first.number, second.number}
    assert world.parked == []


@pytest.mark.parametrize("lost", ["folder", "meta", "checkpoint", "everything"])
async def test_a_lost_or_damaged_index_is_built_again(tmp_path: Path, lost: str) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    other = await world.document("o", "service reviews", tenant="other")
    await world.start().catch_up()
    match lost:
        case "folder":
            shutil.rmtree(tmp_path / "index" / TENANT)
        case "meta":
            (tmp_path / "index" / TENANT / "meta.json").write_bytes(b"")
        case "checkpoint":
            (tmp_path / "index" / "checkpoint.json").write_text('{"format": 0}')
        case _:
            shutil.rmtree(tmp_path / "index")
    service = world.start()

    await service.catch_up()

    assert service.found("service", pin) == [pin.number]
    assert service.found("service", other, tenant="other") == [other.number]


async def test_an_index_that_breaks_while_it_is_used_is_built_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    service = world.start()

    async with service.following_along():
        await eventually(lambda: service.following.position == 1)
        take_away(tmp_path / "index" / TENANT)
        service.following.report_broken(TENANT)
        await eventually((tmp_path / "index" / TENANT / "meta.json").exists)
        await eventually(lambda: service.found("service", pin))

    assert service.found("service", pin) == [pin.number]


async def test_a_stream_that_was_made_again_starts_from_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    old = await world.document("a", "service reviews")
    await world.start().catch_up()
    world.stored.clear()
    world.created = NOW + timedelta(days=1)
    new = await world.document("b", "service reviews")
    service = world.start()

    await service.catch_up()

    assert service.found("service", old, new) == [new.number]


@pytest.mark.req("EV-7")
@pytest.mark.parametrize("damage", ["missing", "altered", "foreign", "undecodable"])
async def test_a_poison_event_is_parked_and_blocks_nothing(tmp_path: Path, damage: str) -> None:
    world = World(tmp_path)
    bad = await world.document("bad", "service reviews of bad")
    text = f"{TENANT}/{bad.extraction_sha256}"
    match damage:
        case "missing":
            del world.blobs.stored[text]
        case "altered":
            world.blobs.stored[text] = b"other words"
        case "foreign":
            manifest = f"{TENANT}/{bad.manifest_sha256}"
            world.blobs.stored[manifest] = world.blobs.stored[text]
        case _:
            world.stored.clear()
            world.poison()
    good = await world.document("good", "service reviews")
    service = world.start()

    await service.catch_up()

    assert service.found("service", bad, good) == [good.number]
    assert service.indexes.within(TENANT, [bad.number]).unconfirmed == {bad.number}
    assert [(one.stored.sequence, one.consumer) for one in world.parked] == [(1, "retrieval-index")]


@pytest.mark.req("CL-4")
@pytest.mark.parametrize("is_withdrawn", [False, True])
async def test_what_was_left_out_damaged_is_found_once_it_is_announced_again(
    tmp_path: Path, is_withdrawn: bool
) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    text = f"{TENANT}/{pin.extraction_sha256}"
    whole, world.blobs.stored[text] = world.blobs.stored[text], b"other words"
    service = world.start()
    await service.catch_up()
    before = service.found("service", pin)

    world.blobs.stored[text] = whole
    if is_withdrawn:
        world.exclude(pin)
    world.announce(pin, as_of=1)
    await service.catch_up()

    assert before == []
    assert service.found("service", pin) == ([] if is_withdrawn else [pin.number])


async def test_a_run_can_wait_for_an_event_and_learns_when_it_is_late(tmp_path: Path) -> None:
    world = World(tmp_path)
    service = world.start()

    async with service.following_along():
        late = await service.following.reached(TENANT, 1, within_s=0.05)
        async with asyncio.timeout(60):
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(service.following.reached(TENANT, 1, within_s=60))
                await world.document("a", "service reviews")

    assert (late, waiting.result()) == (0, 1)


async def test_it_is_not_ready_before_it_has_caught_up(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.document("a", "service reviews")
    service = world.start()
    before = service.following.reason

    await service.catch_up()

    assert before == "starting"
    assert service.following.reason is None


async def test_a_blob_store_that_is_away_stops_it_without_a_loss(tmp_path: Path) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    service = world.start()
    world.blobs.away.add(TENANT)
    with pytest.raises(Unavailable):
        await service.following.run()
    world.blobs.away.clear()

    await service.catch_up()

    assert service.found("service", pin) == [pin.number]
    assert world.parked == []


async def test_while_one_stretch_is_committed_the_next_is_read(tmp_path: Path) -> None:
    world = World(tmp_path, batch=1)
    pins = [await world.document(key, "service reviews") for key in "ab"]
    held = HeldIndexes(tmp_path / "index")
    service = world.start(held)

    async with service.following_along():
        await eventually(held.begun.is_set)
        await eventually(lambda: pins[1].extraction_sha256 in world.blobs.read)
        meanwhile = (service.following.position, service.found("service", *pins))
        held.let_go.set()
        await eventually(lambda: service.following.position == 2)

    assert meanwhile == (0, [])
    assert sorted(service.found("service", *pins)) == sorted(pin.number for pin in pins)


async def test_a_blob_store_that_is_away_meanwhile_does_not_cut_a_commit(tmp_path: Path) -> None:
    world = World(tmp_path, batch=1)
    pins = [await world.document("a", "service reviews")]
    held = HeldIndexes(tmp_path / "index")
    service = world.start(held)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(service.failing_run())
        await eventually(held.begun.is_set)
        world.blobs.away.add(TENANT)
        pins.append(await world.document("b", "service reviews"))
        done, _ = await asyncio.wait({running}, timeout=0.05)
        held.let_go.set()
    world.blobs.away.clear()
    committed = service.following.position
    await service.catch_up()

    assert done == set()
    assert running.result() == "away"
    assert committed == 1
    assert sorted(service.found("service", *pins)) == sorted(pin.number for pin in pins)


@pytest.mark.parametrize("batch", [1, 2])
async def test_a_revision_that_is_pending_again_is_not_found_meanwhile(
    tmp_path: Path, batch: int
) -> None:
    world = World(tmp_path, batch=batch)
    pin = await world.document("a", "service reviews")
    world.pend(pin)
    service = world.start()

    await service.catch_up()

    assert service.found("service", pin) == []


@pytest.mark.req("CL-4")
@pytest.mark.parametrize("batch", [1, 2])
async def test_a_late_result_whose_blobs_are_gone_is_no_fault(tmp_path: Path, batch: int) -> None:
    world = World(tmp_path, batch=batch)
    pin = await world.document("a", "service reviews")
    world.stored.clear()
    world.poison()
    world.exclude(pin)
    world.announce(pin, as_of=1)
    world.blobs.stored.clear()
    service = world.start()

    await service.catch_up()

    assert [one.stored.sequence for one in world.parked] == [1]


async def test_what_is_read_ahead_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOADS_AT_ONCE", 1)
    monkeypatch.setattr(following, "AHEAD_CHARACTERS", 100)
    world = World(tmp_path, batch=9)
    pins = [await world.document("a", "service reviews")]
    held = HeldIndexes(tmp_path / "index")
    service = world.start(held)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(service.following.run())
        await eventually(held.begun.is_set)
        pins += [await world.document(key, f"{key} service " * 6) for key in "bcdefgh"]
        await eventually(lambda: len(world.blobs.read) == TWO_BLOBS * 3)
        done, _ = await asyncio.wait({running}, timeout=0.05)
        ahead = len(world.blobs.read)
        held.let_go.set()
        await eventually(lambda: service.following.position == 8)
        running.cancel()

    assert (done, ahead) == (set(), TWO_BLOBS * 3)
    assert len(service.found("service", *pins)) == 8


_ACTS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=12)


@pytest.mark.req("EV-6")
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=_ACTS, batch=st.integers(1, 5), cut=st.integers(0, 12))
async def test_a_kept_index_equals_one_that_is_built_anew(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, bool]], batch: int, cut: int
) -> None:
    world = World(tmp_path_factory.mktemp("world"), batch=batch)
    pins = {key: await world.document(key, f"service {key}") for key in "abc"}
    await world.start().catch_up()
    for number, (key, ready) in enumerate(acts):
        if ready:
            pins[key] = await world.document(key, f"service {key}")
        else:
            world.exclude(pins[key])
        if number == cut:
            await world.start().catch_up()
    kept = world.start()
    await kept.catch_up()
    found = sorted(kept.found("service", *pins.values()))
    shutil.rmtree(world.folder / "index")
    anew = world.start()
    await anew.catch_up()

    expected = dict.fromkeys("abc", True) | dict(acts)
    assert found == sorted(pins[key].number for key, ready in expected.items() if ready)
    assert sorted(anew.found("service", *pins.values())) == found
