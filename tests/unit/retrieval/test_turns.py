"""Turns: one after the other beside the one who asks, and over before anybody else begins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from chancery.retrieval.handlers.turns import turns

WAIT_S = 5.0


class Thread:
    """Work in a thread that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = False
        self._loop = asyncio.get_running_loop()
        self._held = threading.Event()

    async def work(self) -> None:
        await asyncio.to_thread(self._block)

    def let_go(self) -> None:
        self._held.set()

    def _block(self) -> None:
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self._held.wait(WAIT_S)
        self.ended = True


def noted(done: list[int], number: int) -> Callable[[], Awaitable[None]]:
    async def note() -> None:
        done.append(number)

    return note


async def test_works_are_done_in_order_while_the_block_goes_on() -> None:
    done: list[int] = []
    async with asyncio.timeout(WAIT_S), turns() as taken:
        was_idle = taken.is_idle
        first = Thread()
        taken.take(first.work)
        for number in range(5):
            taken.take(noted(done, number))
        await first.begun.wait()
        meanwhile = (taken.is_idle, list(done))
        first.let_go()
        await taken.done()
        assert taken.is_idle

    assert was_idle
    assert meanwhile == (False, [])
    assert done == [0, 1, 2, 3, 4]


async def test_what_is_not_waited_for_is_done_at_the_end() -> None:
    done: list[int] = []

    async with turns() as taken:
        taken.take(noted(done, 1))
        taken.take(noted(done, 2))

    assert done == [1, 2]


async def test_what_follows_a_failed_work_is_not_done_and_the_block_ends() -> None:
    done: list[int] = []

    async def fail() -> None:
        message = "broken"
        raise ValueError(message)

    async def block() -> None:
        async with asyncio.timeout(WAIT_S), turns() as taken:
            taken.take(fail)
            taken.take(noted(done, 1))
            await asyncio.Event().wait()

    with pytest.raises(ValueError, match="broken"):
        await block()
    assert done == []


async def test_whoever_waits_learns_of_the_failure() -> None:
    async def fail() -> None:
        message = "broken"
        raise ValueError(message)

    async def block() -> None:
        async with turns() as taken:
            taken.take(fail)
            await taken.done()

    with pytest.raises(ValueError, match="broken"):
        await block()


@pytest.mark.parametrize("ending", ["error", "cancel"])
async def test_a_block_that_fails_or_is_cancelled_ends_after_the_work_under_way(
    ending: str,
) -> None:
    thread = Thread()

    async def block() -> None:
        async with turns() as taken:
            taken.take(thread.work)
            await thread.begun.wait()
            if ending == "error":
                raise ValueError(ending)
            await asyncio.Event().wait()

    async def ended() -> str:
        try:
            await block()
        except ValueError as error:
            return str(error)
        return ""

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        running = group.create_task(ended())
        await thread.begun.wait()
        if ending == "cancel":
            running.cancel()
        done, _ = await asyncio.wait({running}, timeout=0.05)
        before = (len(done), thread.ended)
        thread.let_go()

    assert before == (0, False)
    assert thread.ended
    assert running.cancelled() if ending == "cancel" else running.result() == ending
