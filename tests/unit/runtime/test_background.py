"""Supervised loops: restarted, visible while they fail, and stopped by bytes that do not verify."""

from __future__ import annotations

import asyncio

import pytest

from chancery.kernel.errors import Corrupt, Unavailable
from chancery.runtime.background import Background
from chancery.runtime.metrics import create_metrics
from chancery.testkit.waiting import eventually


async def test_a_failing_loop_is_restarted_and_unhealthy_until_it_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chancery.runtime.background.BACKOFF_S_FIRST", 0.01)
    monkeypatch.setattr("chancery.runtime.background.HEALTHY_AFTER_S", 0.05)
    reasons: list[str | None] = []

    async def work() -> None:
        reasons.append(loop.reason)
        if len(reasons) < 4:
            message = "the database is away"
            raise Unavailable(message)
        await asyncio.Event().wait()

    loop = Background(name="projection", factory=work, metrics=create_metrics())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(loop.supervise())
        await eventually(lambda: len(reasons) == 4)
        await eventually(lambda: loop.reason is None)
        task.cancel()

    assert reasons == [None, *["the database is away"] * 3]


async def test_the_text_of_a_bug_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chancery.runtime.background.BACKOFF_S_FIRST", 5.0)

    async def work() -> None:
        raise ValueError("secret")

    loop = Background(name="projection", factory=work, metrics=create_metrics())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(loop.supervise())
        await eventually(lambda: loop.reason is not None)
        task.cancel()

    assert loop.reason == "it failed"


async def test_corrupt_bytes_are_not_retried() -> None:
    runs = 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        message = "the log regressed"
        raise Corrupt(message)

    loop = Background(name="projection", factory=work, metrics=create_metrics())

    with pytest.raises(Corrupt):
        await loop.supervise()
    assert runs == 1


async def test_a_loop_that_returns_is_done_and_healthy() -> None:
    async def work() -> None:
        return

    loop = Background(name="once", factory=work, metrics=create_metrics())
    await loop.supervise()

    assert loop.reason is None
