"""The bell of a run: rows before its end come together, its end comes at once."""

from __future__ import annotations

import asyncio

import pytest

from chancery.gateway.adapters import Bell

LONG_S = 30.0


async def _is_told(bell: Bell) -> bool:
    """Tell whether the bell ended the wait long before its time."""
    try:
        async with asyncio.timeout(LONG_S / 2):
            await bell.wait(LONG_S)
    except TimeoutError:
        return False
    return True


async def test_the_end_is_told_at_once() -> None:
    bell = Bell(gather_s=LONG_S)
    bell.ring(is_last=True)

    assert await _is_told(bell)


async def test_the_end_ends_the_gathering_of_earlier_rows() -> None:
    bell = Bell(gather_s=LONG_S)
    bell.ring(is_last=False)

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_is_told(bell))
        done, _ = await asyncio.wait({waiting}, timeout=0.02)
        assert not done
        bell.ring(is_last=True)


async def test_a_ring_before_the_wait_is_not_lost_and_counts_once() -> None:
    bell = Bell(gather_s=0.001)
    bell.ring(is_last=False)
    bell.ring(is_last=False)

    assert await _is_told(bell)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await bell.wait(LONG_S)


async def test_silence_ends_after_the_given_time() -> None:
    began = asyncio.get_running_loop().time()

    await Bell(gather_s=LONG_S).wait(0.001)

    assert asyncio.get_running_loop().time() - began < LONG_S / 2
