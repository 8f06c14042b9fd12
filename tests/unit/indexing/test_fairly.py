"""Turns that tenants have one after the other, however much one of them has waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from chancery.extract.refusals import TakesLong
from chancery.indexing.handlers.fairly import Fairly
from chancery.testkit.waiting import eventually


async def order(fairly: Fairly, tenants: Sequence[str]) -> list[str]:
    """Return in which order they get their turns, all of them waiting behind one that has it."""
    served: list[str] = []
    begun: list[str] = []

    async def work(tenant: str) -> None:
        begun.append(tenant)
        async with fairly.turn(tenant):
            served.append(tenant)

    async with asyncio.TaskGroup() as group, fairly.turn("first"):
        for tenant in tenants:
            group.create_task(work(tenant))
        await eventually(lambda: len(begun) == len(tenants))
        assert served == []
    return served


async def test_a_tenant_with_much_waiting_keeps_no_other_waiting() -> None:
    served = await order(Fairly(), ["a"] * 50 + ["b", "c", "b"])

    assert served[:6] == ["a", "b", "c", "a", "b", "a"]
    assert served.count("a") == 50


async def test_one_tenant_alone_has_all_turns() -> None:
    assert await order(Fairly(), ["a"] * 5) == ["a"] * 5
    fairly = Fairly()
    for _ in range(3):
        async with fairly.turn("a"):
            pass


@pytest.mark.parametrize("at_once", [1, 3])
async def test_no_more_than_so_many_have_a_turn_at_a_time(at_once: int) -> None:
    fairly, now, peak = Fairly(at_once), 0, 0
    all_in = asyncio.Barrier(at_once)

    async def work(tenant: str) -> None:
        nonlocal now, peak
        async with fairly.turn(tenant):
            now += 1
            peak = max(peak, now)
            await all_in.wait()
            now -= 1

    async with asyncio.TaskGroup() as group:
        for number in range(6 * at_once):
            group.create_task(work(str(number % 2)))

    assert peak == at_once


@pytest.mark.parametrize("is_handed_over", [True, False])
async def test_who_is_cut_off_while_waiting_keeps_no_turn(*, is_handed_over: bool) -> None:
    fairly, begun = Fairly(), 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        async with fairly.turn("a"):
            pass

    async with asyncio.TaskGroup() as group:
        async with fairly.turn("first"):
            waiting = group.create_task(work())
            await eventually(lambda: begun == 1)
            if not is_handed_over:
                waiting.cancel()
        if is_handed_over:
            waiting.cancel()

    assert waiting.cancelled()
    async with asyncio.timeout(30), fairly.turn("b"):
        pass


async def test_a_turn_that_fails_is_handed_over() -> None:
    fairly = Fairly()

    async def fail() -> None:
        async with fairly.turn("a"):
            message = "broken"
            raise ValueError(message)

    with pytest.raises(ValueError, match="broken"):
        await fail()
    async with asyncio.timeout(30), fairly.turn("b"):
        pass


class Waiting:
    """Deliveries that wait while another one has the turn; `aside` are those that may not."""

    def __init__(self, fairly: Fairly) -> None:
        self.fairly = fairly
        self.begun: list[str] = []
        self.aside: list[str] = []
        self.served: list[str] = []

    async def brief(self, tenant: str) -> None:
        """Wait as a delivery does."""
        await self._wait(tenant, tenant, is_brief=True)

    async def long(self, tenant: str) -> None:
        """Wait as what has waited elsewhere does."""
        await self._wait(tenant, f"{tenant} long", is_brief=False)

    async def _wait(self, tenant: str, name: str, *, is_brief: bool) -> None:
        self.begun.append(name)
        try:
            async with self.fairly.turn(tenant, is_brief=is_brief):
                self.served.append(name)
        except TakesLong:
            self.aside.append(name)


@pytest.mark.req("CL-1")
async def test_a_tenant_has_a_quarter_of_those_that_wait_and_the_rest_goes_aside() -> None:
    waiting = Waiting(Fairly(waiting_max=8))

    async with asyncio.TaskGroup() as group, waiting.fairly.turn("first"):
        for tenant in ["a"] * 300 + ["b"]:
            group.create_task(waiting.brief(tenant))
        await eventually(lambda: len(waiting.begun) == 301)

    assert waiting.aside == ["a"] * 298
    assert waiting.served == ["a", "b", "a"]


async def test_however_many_tenants_there_are_no_more_wait_than_may() -> None:
    waiting = Waiting(Fairly(waiting_max=8))

    async with asyncio.TaskGroup() as group, waiting.fairly.turn("first"):
        for number in range(300):
            group.create_task(waiting.brief(str(number)))
        await eventually(lambda: len(waiting.begun) == 300)

    assert waiting.served == [str(number) for number in range(8)]
    assert len(waiting.aside) == 292


async def test_what_has_waited_elsewhere_comes_first_and_goes_not_aside_again() -> None:
    waiting = Waiting(Fairly(waiting_max=8))

    async with asyncio.TaskGroup() as group, waiting.fairly.turn("first"):
        for work in (waiting.brief("a"), waiting.brief("a"), waiting.brief("b"), waiting.long("a")):
            group.create_task(work)
        await eventually(lambda: len(waiting.begun) == 4)

    assert waiting.served == ["a long", "b", "a", "a"]
    assert waiting.aside == []


async def test_nothing_goes_aside_while_a_turn_is_free() -> None:
    waiting = Waiting(Fairly(waiting_max=0))
    for _ in range(3):
        await waiting.brief("a")

    assert waiting.served == ["a"] * 3
