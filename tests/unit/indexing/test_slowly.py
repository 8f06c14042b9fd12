"""Documents that take long: pending at once, extracted by themselves, undone by no withdrawal."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from chancery.events import authority
from chancery.indexing.domain.wishes import SlowRevision
from chancery.indexing.errors import LogMoved
from chancery.indexing.handlers.slowly import Slowly
from chancery.kernel.errors import ChanceryError, Corrupt, Unavailable
from chancery.testkit.waiting import eventually
from tests.unit.indexing.world import SLOW, SOURCE, World, declared_source

LONG = SLOW * 80_000


async def work_slowly(world: World) -> None:
    """Extract what waits by itself."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.publications.slowly.run())
        await eventually(lambda: not world.slow)
        running.cancel()


async def _published() -> World:
    world = World()
    world.record(declared_source())
    await world.handle(await world.publish(LONG))
    return world


@pytest.mark.req("CL-1", "EV-7")
async def test_a_delivery_ends_before_a_document_that_takes_long_is_extracted() -> None:
    world = await _published()

    assert world.told() == ["pending 1"]
    assert world.slow == [SlowRevision(SOURCE, 1)]

    await work_slowly(world)

    assert world.told() == ["pending 1", "extracted 1", "ready 1"]


@pytest.mark.req("EV-6", "EV-7")
@pytest.mark.parametrize("error", [Unavailable("away"), LogMoved("moved"), Corrupt("unreadable")])
async def test_what_another_try_may_mend_is_not_forgotten(
    error: ChanceryError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await _published()
    tried: list[SlowRevision] = []

    async def fail(self: Slowly, slow: SlowRevision) -> None:
        del self
        tried.append(slow)
        raise error

    with monkeypatch.context() as failing:
        failing.setattr(Slowly, "_extract", fail)
        running = asyncio.wait_for(world.publications.slowly.run(), 0.2)
        with suppress(Unavailable, LogMoved, TimeoutError):
            await running

    assert tried
    assert world.slow == [SlowRevision(SOURCE, 1)]
    await work_slowly(world)
    assert world.told()[-1] == "ready 1"


@pytest.mark.req("EV-6")
async def test_a_second_delivery_waits_once_and_extracts_nothing_anew() -> None:
    world = await _published()
    await world.handle(world.event(1))

    waiting = list(world.slow)
    await work_slowly(world)
    await world.handle(world.event(1))

    assert waiting == [SlowRevision(SOURCE, 1)]
    assert world.slow == []
    assert world.told() == ["pending 1", "extracted 1", "ready 1"]


@pytest.mark.req("CL-4")
async def test_what_was_withdrawn_meanwhile_is_not_extracted() -> None:
    world = await _published()
    await world.handle(world.record(authority.RevisionWithdrawn()))

    await work_slowly(world)

    assert world.told() == ["pending 1", "excluded 1 withdrawn"]


async def test_a_revision_that_was_superseded_meanwhile_is_extracted_once() -> None:
    world = await _published()
    await world.handle(await world.publish(b"two"))

    await work_slowly(world)

    assert world.standings() == {1: "excluded", 2: "ready"}
    assert world.told().count("extracted 1") == 1
