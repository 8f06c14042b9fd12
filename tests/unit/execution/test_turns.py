"""Turns: nobody's statements keep those of others waiting, and too many are refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from chancery.execution.errors import Busy, TooManyQueries
from chancery.execution.handlers.turns import TurnLimits, Turns, turn_limits
from chancery.kernel.errors import Unavailable

ADA, BOB = ("acme", "ada"), ("acme", "bob")


@pytest.mark.req("KO-3")
async def test_one_principal_leaves_a_turn_for_another() -> None:
    turns = Turns(TurnLimits(running=3, running_each=2, wait_s=0.01))

    async with turns.of(ADA), turns.of(ADA):
        with pytest.raises(TooManyQueries):
            async with turns.of(ADA):
                pass
        async with turns.of(BOB):
            pass


async def test_who_waits_for_others_is_told_that_all_are_busy() -> None:
    turns = Turns(TurnLimits(running=1, running_each=1, wait_s=0.01))

    async with turns.of(ADA):
        with pytest.raises(Busy) as busy:
            async with turns.of(BOB):
                pass
    async with turns.of(BOB):
        pass

    assert (busy.value.code, TooManyQueries.code) == ("sql_busy", "sql_too_many_queries")
    assert issubclass(Busy, Unavailable)
    assert issubclass(TooManyQueries, Unavailable), "such a refusal says when to come back"


async def test_more_than_a_principal_may_hold_is_refused_at_once() -> None:
    turns = Turns(TurnLimits(running=3, running_each=1, held_each=3, wait_s=600))

    async with asyncio.timeout(60), turns.of(ADA), asyncio.TaskGroup() as group:
        waiting = [group.create_task(_pass(turns)) for _ in range(2)]
        await _turn_of_the_loop()
        with pytest.raises(TooManyQueries) as refused:
            async with turns.of(ADA):
                pass
        for task in waiting:
            task.cancel()
    async with turns.of(ADA):
        pass

    assert "try again" in refused.value.detail


async def test_a_hundred_waiting_statements_of_one_do_not_delay_another() -> None:
    turns = Turns(TurnLimits(running=2, running_each=1, held_each=200, wait_s=600))
    order: list[str] = []

    async def ask(name: str) -> None:
        async with turns.of(("acme", name)):
            await _turn_of_the_loop()
            order.append(name)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(ask("ada"))
        await _turn_of_the_loop()
        group.create_task(ask("bob"))

    assert order.index("bob") < 5
    assert len(order) == 101


@pytest.mark.req("KO-3")
@pytest.mark.parametrize("principals", [3, 20])
async def test_the_principals_of_one_tenant_do_not_delay_another_tenant(principals: int) -> None:
    turns = Turns(TurnLimits(running=5, running_each=2, held_each=32, wait_s=60))
    order: list[str] = []

    async def ask(tenant: str, name: str) -> None:
        async with turns.of((tenant, name)):
            await _turn_of_the_loop()
            order.append(tenant)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(principals * 32):
            group.create_task(ask("acme", f"p{number % principals}"))
        await _turn_of_the_loop()
        for number in range(10):
            group.create_task(ask("good", f"p{number % 2}"))

    first = [number for number, tenant in enumerate(order) if tenant == "good"]
    assert len(order) == principals * 32 + 10
    assert first[0] <= 2 * 5
    assert first[-1] <= 2 * 5 + 10 * 5 // 2


@pytest.mark.req("KO-3")
async def test_a_tenant_alone_has_all_places_and_its_principals_share_them() -> None:
    turns = Turns(TurnLimits(running=4, running_each=2, held_each=32, wait_s=60))
    order: list[str] = []

    async def ask(name: str) -> None:
        async with turns.of(("acme", name)):
            await _turn_of_the_loop()
            order.append(name)

    async with turns.of(ADA), turns.of(ADA), turns.of(BOB), turns.of(BOB):
        pass
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(60):
            group.create_task(ask(f"p{number % 3}"))

    shares = Counter(order[:30])
    assert len(shares) == 3
    assert max(shares.values()) - min(shares.values()) <= 2


async def test_a_place_that_comes_to_who_has_gone_goes_on() -> None:
    turns = Turns(TurnLimits(running=1, running_each=1, held_each=4, wait_s=60))

    for _ in range(3):
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            async with turns.of(ADA):
                gone = group.create_task(_pass(turns, BOB))
                stays = group.create_task(_pass(turns, ("other", "eve")))
                await _turn_of_the_loop()
            gone.cancel()
        assert gone.cancelled()
        assert not stays.cancelled()


async def test_nothing_is_remembered_of_who_has_left() -> None:
    turns = Turns(TurnLimits(running=1, running_each=1, held_each=1, wait_s=0.01))

    for _ in range(3):
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(turns.of(ADA))
            with pytest.raises(TooManyQueries):
                await stack.enter_async_context(turns.of(ADA))
        with pytest.raises(TimeoutError):
            async with turns.of(BOB):
                raise TimeoutError


@pytest.mark.parametrize(
    ("processes", "running", "each"), [(1, 1, 1), (2, 1, 1), (4, 3, 1), (6, 5, 2), (16, 15, 7)]
)
def test_processes_are_left_for_runs_and_for_others(
    processes: int, running: int, each: int
) -> None:
    limits = turn_limits(processes)

    assert (limits.running, limits.running_each) == (running, each)


async def _pass(turns: Turns, principal: tuple[str, str] = ADA) -> None:
    async with turns.of(principal):
        pass


async def _turn_of_the_loop() -> None:
    """Let the other tasks go on."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turned.set_result, None)
    await turned
