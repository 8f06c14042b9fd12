"""A budget never gives more than it has, and gets all of it back."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.execution.handlers.budget import Budget


@given(
    holders=st.lists(st.tuples(st.integers(0, 10), st.integers(0, 3)), min_size=1, max_size=12),
    bytes_max=st.integers(10, 40),
)
async def test_all_is_given_back_and_never_more_held_than_there_is(
    holders: list[tuple[int, int]], bytes_max: int
) -> None:
    """Each holder keeps some bytes over some turns of the loop."""
    budget = Budget(bytes_max, 10)
    held: list[int] = []

    async def hold(kept: int, turns: int) -> None:
        async with budget.share() as share:
            share.shrink(kept)
            for _ in range(turns):
                await _turn_of_the_loop()
                held.append(bytes_max - budget.free_bytes)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for kept, turns in holders:
            group.create_task(hold(kept, turns))

    assert budget.free_bytes == bytes_max
    assert all(0 <= each <= bytes_max for each in held)


async def test_the_next_waits_until_enough_is_free() -> None:
    budget = Budget(25, 10)

    async with budget.share() as first, budget.share():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), budget.share():
                pass
        first.shrink(5)
        async with asyncio.timeout(60), budget.share() as third:
            assert (third.size_bytes, budget.free_bytes) == (10, 0)

    assert budget.free_bytes == 25


async def test_who_waits_longest_is_next_and_who_has_gone_is_not() -> None:
    budget = Budget(10, 10)
    order: list[str] = []

    async def wait(name: str) -> None:
        async with budget.share():
            order.append(name)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group, budget.share():
        waiting = [group.create_task(wait(name)) for name in ("a", "gone", "b")]
        await _turn_of_the_loop()
        waiting[1].cancel()

    assert order == ["a", "b"]
    assert budget.free_bytes == 10


async def test_a_share_that_comes_together_with_a_cancellation_is_not_lost() -> None:
    budget = Budget(10, 10)
    holder = asyncio.Event()

    async def hold() -> None:
        async with budget.share():
            await holder.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first, second = group.create_task(hold()), group.create_task(hold())
        await _turn_of_the_loop()
        budget.give_back(10)  # The second gets a share, and is cancelled before it can take it.
        second.cancel()
        await _turn_of_the_loop()
        holder.set()

    assert first.done()
    assert budget.free_bytes == 20


async def _turn_of_the_loop() -> None:
    """Let the other tasks go on."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turned.set_result, None)
    await turned
