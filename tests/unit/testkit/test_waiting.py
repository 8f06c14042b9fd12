"""Waiting ends with the value, or at the deadline with the last one seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chancery.testkit import waiting
from chancery.testkit.waiting import eventually, wait_until


def _numbers() -> Iterator[int]:
    return iter(range(100))


async def test_the_first_true_value_is_returned() -> None:
    numbers, more = _numbers(), _numbers()

    async def later() -> int:
        return next(more) // 3

    assert await eventually(lambda: next(numbers) // 3) == 1
    assert await eventually(later) == 1
    assert wait_until(lambda: next(numbers) // 6) == 1


async def test_the_deadline_names_the_last_value() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.05 s; the last value was \[\]"):
        await eventually(list[int], 0.05)
    with pytest.raises(AssertionError, match=r"not within 0\.05 s; the last value was \[\]"):
        wait_until(list[int], 0.05)


def test_a_pause_begins_short_and_is_twice_as_long_as_a_look_that_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    paused, looks = list[float](), iter([*[0.0] * 6, 0.03, 0.0, 1.0, 0.0])

    def look() -> bool:
        nonlocal now
        now += next(looks)
        return len(paused) == 9

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        paused.append(round(seconds, 3))

    monkeypatch.setattr(waiting.time, "monotonic", lambda: now)
    monkeypatch.setattr(waiting.time, "sleep", sleep)
    assert wait_until(look)

    assert paused == [0.005, 0.01, 0.02, 0.02, 0.02, 0.02, 0.06, 0.02, 0.1]
