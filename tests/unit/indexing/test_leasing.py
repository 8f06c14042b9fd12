"""Work is done under a lease that is renewed; without one it stops before another one begins."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace

import pytest

from chancery.extract.limits import DEADLINE_FACTOR
from chancery.indexing.domain.wishes import LEASE_S, SlowRevision
from chancery.indexing.errors import LeaseLost
from chancery.indexing.handlers.leasing import USUAL, Renewing, hold
from chancery.indexing.handlers.refreshing import Refreshing
from chancery.indexing.handlers.slowly import Slowly
from chancery.indexing.settings import IndexingSettings
from chancery.kernel.errors import Unavailable
from chancery.testkit.waiting import eventually
from tests.unit.indexing.test_refreshing import Desk, MemoryWishes, wish
from tests.unit.indexing.test_slowly import LONG
from tests.unit.indexing.world import SOURCE, MemorySlowQueue, World, declared_source

AWAY = Unavailable("away")
OFTEN = Renewing(every_s=0.001, within_s=0.05)


@dataclass(slots=True)
class Lease:
    """A lease that answers as told, the last answer for ever; `times` it was asked."""

    answers: Sequence[bool | Exception | None]
    times: int = 0
    cut_off: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def renew(self) -> bool:
        self.times += 1
        answer = self.answers[min(self.times, len(self.answers)) - 1]
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    async def work(self) -> None:
        try:
            await self.done.wait()
        except asyncio.CancelledError:
            self.cut_off = True
            raise


async def test_a_lease_is_renewed_for_as_long_as_the_work_takes() -> None:
    lease = Lease([True])
    async with asyncio.TaskGroup() as group:
        holding = group.create_task(hold(lease.work(), lease.renew, OFTEN))
        await eventually(lambda: lease.times > 20)
        lease.done.set()
        await holding

    assert not lease.cut_off


@pytest.mark.req("EV-6")
@pytest.mark.parametrize("failure", [AWAY, None], ids=["away", "no answer"])
async def test_work_is_cut_off_when_its_lease_is_lost_or_cannot_be_known(
    failure: Exception | None,
) -> None:
    taken = Lease([True, False])
    unknown = Lease([failure])

    for lease in (taken, unknown):
        with pytest.raises(LeaseLost):
            await hold(lease.work(), lease.renew, OFTEN)

    assert (taken.times, taken.cut_off) == (2, True)
    assert (unknown.times, unknown.cut_off) == (OFTEN.failures_max, True)


async def test_a_few_failures_are_survived() -> None:
    lease = Lease([AWAY, AWAY, True] * 10 + [True])
    async with asyncio.TaskGroup() as group:
        group.create_task(hold(lease.work(), lease.renew, OFTEN))
        await eventually(lambda: lease.times > 20)
        lease.done.set()

    assert not lease.cut_off


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def fail() -> None:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await hold(fail(), Lease([True]).renew)


@pytest.mark.req("EV-6", "EV-7")
def test_work_stops_before_its_lease_ends_whatever_the_deadline_of_an_extraction() -> None:
    longest = IndexingSettings.model_fields["extraction_s"].metadata[1].le

    assert USUAL.stops_within_s < LEASE_S
    assert DEADLINE_FACTOR * longest > LEASE_S, "a lease that is not renewed would be too short"


@pytest.mark.req("EV-6")
async def test_a_slow_revision_whose_lease_is_lost_is_left_to_the_process_that_has_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.record(declared_source())
    await world.handle(await world.publish(LONG))
    monkeypatch.setattr(MemorySlowQueue, "renew", is_lost)
    monkeypatch.setattr(Slowly, "_extract", never_ends)
    queue, parts = MemorySlowQueue(world), world.publications
    slowly = Slowly(queue, parts.announcements, parts.extraction, OFTEN)

    await until_it_is_left(slowly.run(), caplog)

    assert world.slow == list(queue.taken) == [SlowRevision(SOURCE, 1)]


@pytest.mark.req("EV-6")
async def test_a_wish_whose_lease_is_lost_is_left_to_the_process_that_has_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(World())
    await desk.wishes.record(wish())
    monkeypatch.setattr(MemoryWishes, "renew", is_lost)
    monkeypatch.setattr(Refreshing, "_index_again", never_ends)
    refreshing = replace(desk.refreshing, renewing=OFTEN)

    await until_it_is_left(refreshing.run(), caplog)

    assert (desk.wishes.waiting, desk.wishes.ended) == ([], [])


async def is_lost(self: object, one: object) -> bool:
    del self, one
    return False


async def never_ends(self: object, one: object) -> None:
    del self, one
    await asyncio.Event().wait()


async def until_it_is_left(
    run: Coroutine[None, None, None], caplog: pytest.LogCaptureFixture
) -> None:
    """Run until a warning says that another process has the work."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run)
        await eventually(lambda: "left to another process" in caplog.text)
        running.cancel()
