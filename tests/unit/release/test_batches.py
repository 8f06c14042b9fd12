"""Batches: nobody joins one that has begun, and a leader that goes harms none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chancery.kernel.errors import Unavailable
from chancery.release.adapters.batches import Batches


@dataclass(slots=True)
class Work:
    """Work that waits until it is let go on, and then doubles or fails."""

    batches: list[list[int]] = field(default_factory=list[list[int]])
    go: asyncio.Event = field(default_factory=asyncio.Event)
    fails: bool = False

    async def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(items))
        await self.go.wait()
        if self.fails:
            message = "away"
            raise Unavailable(message)
        return [2 * item for item in items]


async def turns(count: int = 5) -> None:
    """Let everybody run who is ready."""
    loop = asyncio.get_running_loop()
    for _ in range(count):
        passed: asyncio.Future[None] = loop.create_future()
        loop.call_soon(passed.set_result, None)
        await passed


async def test_one_alone_is_a_batch_of_its_own() -> None:
    work = Work()
    work.go.set()

    assert await Batches(work).ask(21) == 42
    assert work.batches == [[21]]


async def test_those_who_come_meanwhile_share_the_next_batch() -> None:
    work = Work()
    batches = Batches(work)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(batches.ask(1))
        await turns()
        rest = [group.create_task(batches.ask(number)) for number in (2, 3, 4)]
        await turns()
        assert work.batches == [[1]]
        work.go.set()

    assert work.batches == [[1], [2, 3, 4]]
    assert [task.result() for task in (first, *rest)] == [2, 4, 6, 8]


async def test_two_batches_are_worked_on_at_once_and_no_third() -> None:
    work = Work()
    batches = Batches(work, at_once=2)

    async with asyncio.TaskGroup() as group:
        for number in (1, 2, 3):
            group.create_task(batches.ask(number))
            await turns()
        assert work.batches == [[1], [2]]
        work.go.set()

    assert work.batches == [[1], [2], [3]]


async def test_an_error_reaches_everybody_in_its_batch_and_nobody_else() -> None:
    work = Work(fails=True)
    batches = Batches(work)
    work.go.set()

    found = await asyncio.gather(*map(batches.ask, (1, 2)), return_exceptions=True)
    work.fails = False

    assert [type(each) for each in found] == [Unavailable, Unavailable]
    assert await batches.ask(3) == 6


async def test_a_leader_that_is_cancelled_leaves_its_batch_to_the_next() -> None:
    work = Work()
    batches = Batches(work)

    async with asyncio.TaskGroup() as group:
        leader = group.create_task(batches.ask(1))
        other = group.create_task(batches.ask(2))
        await turns()
        assert work.batches == [[1, 2]]
        leader.cancel()
        await turns()
        work.go.set()

    assert work.batches == [[1, 2], [2]]
    assert other.result() == 4
    with pytest.raises(asyncio.CancelledError):
        leader.result()


@example(
    [(1, True), (0, True), (2, True), (0, True), (0, True), (1, True), (1, True), (0, False)], 3
)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), st.integers(1, 3))
async def test_whoever_stays_is_answered_whoever_else_leaves(
    comers: list[tuple[int, bool]], at_once: int
) -> None:
    work = Work()
    batches = Batches(work, at_once=at_once, items_max=3)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        tasks = [group.create_task(batches.ask(number)) for number in range(len(comers))]
        for task, (pause, leaves) in zip(tasks, comers, strict=True):
            await turns(pause)
            if leaves:
                task.cancel()
        work.go.set()

    stayed = [number for number, task in enumerate(tasks) if not task.cancelled()]
    assert [tasks[number].result() for number in stayed] == [2 * number for number in stayed]
    assert all(number in stayed for number, (_, leaves) in enumerate(comers) if not leaves)
    assert max(map(len, work.batches), default=0) <= 3
    assert await batches.ask(7) == 14
