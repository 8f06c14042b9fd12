"""The barrier never answers with an end of the log from before the call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Unavailable
from chancery.release.errors import BehindLog, LogRegressed
from chancery.release.handlers.barrier import Barrier
from chancery.release.ports.position import Position
from chancery.testkit.waiting import eventually


@dataclass(slots=True)
class SlowLog:
    """A log whose end is read now and told later, when the test says so."""

    end: int = 0
    reads: int = 0
    on_their_way: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])

    async def read_end(self) -> int:
        self.reads += 1
        seen = self.end
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_their_way.append(answered)
        await answered
        return seen

    def answer_next(self) -> None:
        self.on_their_way.pop(0).set_result(None)

    async def until_reads(self, count: int) -> None:
        await eventually(lambda: self.reads >= count, 5)


async def settle() -> None:
    """Give every other task some turns."""
    loop = asyncio.get_running_loop()
    for _ in range(10):
        turn: asyncio.Future[None] = loop.create_future()
        loop.call_soon(turn.set_result, None)
        await turn


class Passed(Position):
    """The position of a projection that passes every end at once."""

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        self.advance(sequence)


def barrier_over(log: SlowLog) -> Barrier:
    return Barrier(log.read_end, Passed())


async def test_a_waiter_does_not_share_a_read_that_is_on_its_way() -> None:
    log = SlowLog(end=1)
    barrier = barrier_over(log)
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(barrier.pass_through())
        await log.until_reads(1)
        # A revocation is acknowledged while the first read's answer is on its way.
        log.end = 2
        late = tasks.create_task(barrier.pass_through())
        await settle()
        log.answer_next()
        await log.until_reads(2)
        log.answer_next()

    assert early.result() == 1
    assert late.result() == 2


async def test_those_who_come_while_a_read_is_on_its_way_share_the_next_one() -> None:
    log = SlowLog(end=1)
    barrier = barrier_over(log)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(barrier.pass_through())
        await log.until_reads(1)
        log.end = 7
        crowd = [tasks.create_task(barrier.pass_through()) for _ in range(50)]
        await settle()
        log.answer_next()
        await log.until_reads(2)
        log.answer_next()

    assert log.reads == 2
    assert {each.result() for each in crowd} == {7}


async def test_one_who_gives_up_before_the_read_leaves_the_others_an_answer() -> None:
    log = SlowLog(end=1)
    barrier = barrier_over(log)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(barrier.pass_through())
        await log.until_reads(1)
        first = tasks.create_task(barrier.pass_through())
        await settle()
        second = tasks.create_task(barrier.pass_through())
        await settle()
        first.cancel()
        await settle()
        log.answer_next()
        await log.until_reads(2)
        log.answer_next()

    assert first.cancelled()
    assert second.result() == 1


async def test_a_failed_read_fails_all_who_shared_it_and_not_the_next() -> None:
    outcomes: list[int | Unavailable] = [Unavailable("the leader is away"), 5]

    async def read_end() -> int:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Unavailable):
            raise outcome
        return outcome

    barrier = Barrier(read_end, Passed())

    with pytest.raises(Unavailable):
        await barrier.pass_through()
    assert await barrier.pass_through() == 5


async def test_a_projection_that_stays_behind_is_unavailable() -> None:
    async def read_end() -> int:
        return 5

    barrier = Barrier(read_end, Position(4), timeout_s=0.01)

    with pytest.raises(BehindLog):
        await barrier.pass_through()
    barrier.position.advance(5)
    assert await barrier.pass_through() == 5


async def test_an_end_before_what_was_read_is_another_log_and_nothing_is_told() -> None:
    ends = [7, 6, 7]

    async def read_end() -> int:
        return ends.pop(0)

    barrier = Barrier(read_end, Position(7))

    assert await barrier.pass_through() == 7
    with pytest.raises(LogRegressed):
        await barrier.pass_through()
    assert await barrier.pass_through() == 7


@given(st.lists(st.sampled_from(["call", "append", "answer"]), max_size=40))
def test_every_caller_sees_what_was_acknowledged_before_the_call(steps: list[str]) -> None:
    told = asyncio.run(_play(steps))

    assert all(answer >= acknowledged for acknowledged, answer in told)


async def _play(steps: list[str]) -> list[tuple[int, int]]:
    log = SlowLog()
    barrier = barrier_over(log)
    calls: list[tuple[int, asyncio.Task[int]]] = []
    async with asyncio.TaskGroup() as tasks:
        for step in steps:
            if step == "call":
                calls.append((log.end, tasks.create_task(barrier.pass_through())))
            elif step == "append":
                log.end += 1
            elif log.on_their_way:
                log.answer_next()
            await settle()
        while not all(task.done() for _, task in calls):
            if log.on_their_way:
                log.answer_next()
            await settle()

    return [(acknowledged, task.result()) for acknowledged, task in calls]


async def test_waiters_wake_in_order_and_only_when_passed() -> None:
    position = Position()
    woken: list[int] = []

    async def wait(sequence: int) -> None:
        await position.wait(sequence, timeout_s=60)
        woken.append(sequence)

    async with asyncio.TaskGroup() as tasks:
        for sequence in (3, 1, 2):
            tasks.create_task(wait(sequence))
        await settle()
        position.advance(2)
        await settle()
        before = list(woken)
        position.advance(3)

    assert sorted(before) == [1, 2]
    assert sorted(woken) == [1, 2, 3]
    assert not position.is_awaited
