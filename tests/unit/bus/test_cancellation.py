"""A cancellation that a library swallows is raised after all."""

from __future__ import annotations

import asyncio

import pytest

from chancery.bus.connection import translate_errors
from chancery.kernel.errors import Unavailable


async def swallow(started: asyncio.Event, error: Exception | None) -> None:
    """Behave like `wait_for` before Python 3.12 when result and cancellation come together."""
    started.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        if error is not None:
            raise error from None


@pytest.mark.parametrize("error", [None, TimeoutError()])
async def test_a_swallowed_cancellation_ends_the_task(error: Exception | None) -> None:
    reached: list[str] = []
    started = asyncio.Event()

    async def work() -> None:
        try:
            with translate_errors():
                await swallow(started, error)
        except Unavailable:
            reached.append("mistaken for an outage")
        reached.append("went on")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await started.wait()
        task.cancel()

    assert task.cancelled()
    assert reached == []


async def test_cleaning_up_after_a_cancellation_is_not_cancelled_again() -> None:
    cleaned: list[str] = []
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            with translate_errors():
                cleaned.append("closed")
            cleaned.append("done")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(work())
        await started.wait()
        task.cancel()

    assert cleaned == ["closed", "done"]
