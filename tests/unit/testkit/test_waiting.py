"""Waiting ends with the value, or at the deadline with the last one seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
