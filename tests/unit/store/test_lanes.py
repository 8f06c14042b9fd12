"""Lanes: what comes together is done together, and everybody gets what was made of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.store.lanes import GROUP_MAX, Lanes

WITHIN_S = 60.0


class Doubling:
    """Doubles numbers, refuses 13, breaks at 99; waits until it may go on."""

    def __init__(self, *, may_go: bool = True) -> None:
        """Begin at once, or only when told."""
        self.groups: list[list[int]] = []
        self.begun = threading.Event()
        self.may_go = threading.Event()
        if may_go:
            self.may_go.set()

    def __call__(self, items: Sequence[int]) -> list[int | Exception]:
        """Return the doubles."""
        self.groups.append(list(items))
        self.begun.set()
        assert self.may_go.wait(WITHIN_S)
        if 99 in items:
            raise RuntimeError
        return [ValueError(item) if item == 13 else 2 * item for item in items]


async def _all(lanes: Lanes[int, int], numbers: Sequence[int]) -> list[int | BaseException]:
    async with asyncio.timeout(WITHIN_S):
        return await asyncio.gather(*map(lanes.do, numbers), return_exceptions=True)


@settings(max_examples=30, deadline=None)
@given(numbers=st.lists(st.integers(14, 98), max_size=3 * GROUP_MAX), threads=st.integers(1, 4))
async def test_everybody_gets_what_was_made_of_their_own(numbers: list[int], threads: int) -> None:
    doubling = Doubling()

    found = await _all(Lanes(doubling, name="test", threads=threads), numbers)

    assert found == [2 * number for number in numbers]
    assert all(len(group) <= GROUP_MAX for group in doubling.groups)


async def test_what_comes_meanwhile_is_the_next_group() -> None:
    doubling = Doubling(may_go=False)
    lanes = Lanes(doubling, name="test", threads=1)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(lanes.do(1))
        await asyncio.to_thread(doubling.begun.wait, WITHIN_S)
        rest = group.create_task(_all(lanes, [2, 3, 4]))
        cut_off = group.create_task(lanes.do(5))
        await asyncio.to_thread(lambda: None)
        cut_off.cancel()
        doubling.may_go.set()

    assert first.result() == 2
    assert rest.result() == [4, 6, 8]
    assert [sorted(group) for group in doubling.groups] == [[1], [2, 3, 4, 5]]


async def test_what_is_refused_fails_alone() -> None:
    found = await _all(Lanes(Doubling(), name="test", threads=1), [1, 13, 2])

    assert (found[0], found[2]) == (2, 4)
    assert isinstance(found[1], ValueError)


async def test_a_group_that_breaks_tells_everybody_and_the_next_one_is_done() -> None:
    lanes = Lanes(Doubling(), name="test", threads=1)

    with pytest.raises(RuntimeError):
        await lanes.do(99)

    assert await lanes.do(4) == 8
