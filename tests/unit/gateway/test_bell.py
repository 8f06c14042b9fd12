"""The bell of a run: rows before its end come together, its end comes at once."""

from __future__ import annotations

import asyncio

import pytest

from chancery.gateway.domain.bell import Bell

LONG_S = 30.0


async def _wait(bell: Bell) -> None:
    async with asyncio.timeout(LONG_S / 2):
        await bell.wait(LONG_S)


async def test_the_end_is_told_at_once() -> None:
    bell = Bell(gather_s=LONG_S)
    bell.ring(is_last=True)

    await _wait(bell)


async def test_the_end_ends_the_gathering_of_earlier_rows() -> None:
    bell = Bell(gather_s=LONG_S)
    bell.ring(is_last=False)

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_wait(bell))
        await asyncio.sleep(0)
        assert not waiting.done()
        bell.ring(is_last=True)


async def test_a_ring_before_the_wait_is_not_lost_and_counts_once() -> None:
    bell = Bell(gather_s=0.001)
    bell.ring(is_last=False)
    bell.ring(is_last=False)

    await _wait(bell)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await bell.wait(LONG_S)


async def test_silence_ends_after_the_given_time() -> None:
    async with asyncio.timeout(LONG_S):
        await Bell(gather_s=LONG_S).wait(0.001)
