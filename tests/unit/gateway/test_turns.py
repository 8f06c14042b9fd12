"""Turns: what few may do at a time is given to callers one after the other, in time or not."""

from __future__ import annotations

import asyncio

import pytest

from chancery.events.requests import Caller
from chancery.gateway.errors import TextsFull
from chancery.gateway.handlers.turns import Turns
from chancery.testkit.waiting import eventually


def caller(principal: str, tenant: str = "t1") -> Caller:
    return Caller(tenant=tenant, principal=principal, credential_id="c", proof="0" * 64)


ADA, BO, CY, OTHER = caller("ada"), caller("bo"), caller("cy"), caller("ada", "t2")


class Line:
    """Callers who take turns, keep each until `end`, and are told in the order of beginning."""

    def __init__(self, turns: Turns, group: asyncio.TaskGroup) -> None:
        self.turns, self.group = turns, group
        self.begun: list[Caller] = []
        self._held: list[asyncio.Event] = []

    def ask(self, *callers: Caller) -> list[asyncio.Task[None]]:
        return [self.group.create_task(self._work(each)) for each in callers]

    def end(self, number: int) -> None:
        self._held[number].set()

    def end_all(self) -> None:
        for each in self._held:
            each.set()

    async def _work(self, who: Caller) -> None:
        async with self.turns.turn(who):
            over = asyncio.Event()
            self.begun.append(who)
            self._held.append(over)
            await over.wait()


async def until_all_end(line: Line, number: int) -> None:
    async def all_begun() -> bool:
        line.end_all()
        return len(line.begun) == number and not line.turns.held_now

    await eventually(all_begun)


async def test_no_caller_and_no_tenant_takes_all() -> None:
    async with asyncio.TaskGroup() as group:
        line = Line(Turns(at_once=8, of_one_max=2, of_tenant_max=4), group)
        line.ask(*[ADA] * 5, *[BO] * 5, *[CY] * 5, *[OTHER] * 5)
        await eventually(lambda: len(line.begun) == 6)

        assert [line.begun.count(each) for each in (ADA, BO, CY, OTHER)] == [2, 2, 0, 2]
        await until_all_end(line, 20)


async def test_callers_get_what_is_free_one_after_the_other() -> None:
    async with asyncio.TaskGroup() as group:
        line = Line(Turns(at_once=1, of_one_max=1, of_tenant_max=1), group)
        line.ask(ADA)
        await eventually(lambda: line.begun == [ADA])
        line.ask(*[ADA] * 3, BO, BO, OTHER)
        for number in range(7):
            await eventually(lambda: len(line.begun) == number + 1)  # noqa: B023 - within its turn
            line.end(number)

    assert line.begun == [ADA, ADA, BO, OTHER, ADA, BO, ADA]


async def test_who_waits_too_long_is_refused_and_the_turn_is_nobodys() -> None:
    turns = Turns(at_once=1, of_one_max=1, of_tenant_max=1, wait_s=0.05)
    async with turns.turn(ADA):
        with pytest.raises(TextsFull):
            async with turns.turn(BO):
                pass

    async with turns.turn(BO):
        assert turns.held_now == 1
    assert turns.held_now == 0


async def test_more_of_one_caller_than_may_wait_are_refused_at_once() -> None:
    async with asyncio.TaskGroup() as group:
        turns = Turns(at_once=1, of_one_max=1, of_tenant_max=1, waiting_of_one_max=2)
        line = Line(turns, group)
        line.ask(ADA, ADA, ADA)
        await eventually(lambda: line.begun == [ADA])
        with pytest.raises(TextsFull):
            async with turns.turn(ADA):
                pass
        line.ask(BO)
        await until_all_end(line, 4)

    assert line.begun.count(BO) == 1


async def test_who_hangs_up_while_waiting_leaves_the_turn_to_the_next() -> None:
    async with asyncio.TaskGroup() as group:
        line = Line(Turns(at_once=1, of_one_max=1, of_tenant_max=1), group)
        line.ask(ADA)
        await eventually(lambda: line.begun == [ADA])
        leaving, _ = line.ask(BO, CY)
        await eventually(lambda: line.turns.waiting_now == 2)
        leaving.cancel()
        line.end(0)
        await eventually(lambda: line.begun == [ADA, CY])
        line.end(1)

    assert line.turns.held_now == 0
