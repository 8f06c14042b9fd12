"""Waiting for a condition, with a deadline: tests never sleep."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

POLL_S = 0.02
WITHIN_S = 30.0
"""Long enough for a machine that is busy with something else; what comes sooner ends sooner."""


@overload
async def eventually(condition: Callable[[], Awaitable[T]], within_s: float = WITHIN_S) -> T: ...


@overload
async def eventually(condition: Callable[[], T], within_s: float = WITHIN_S) -> T: ...


async def eventually(condition: Callable[[], object], within_s: float = WITHIN_S) -> object:
    """Return the first true value of `condition`, which may be a coroutine function.

    Raises:
        AssertionError: with the last value, when there was none in time.
    """
    deadline = time.monotonic() + within_s
    while True:
        found = condition()
        value = await found if inspect.isawaitable(found) else found
        if value:
            return value
        if time.monotonic() > deadline:
            message = f"not within {within_s} s; the last value was {value!r}"
            raise AssertionError(message)
        await asyncio.sleep(POLL_S)


def wait_until(condition: Callable[[], T], within_s: float = WITHIN_S) -> T:
    """Return the first true value of `condition`, blocking.

    Raises:
        AssertionError: with the last value, when there was none in time.
    """
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            message = f"not within {within_s} s; the last value was {value!r}"
            raise AssertionError(message)
        time.sleep(POLL_S)
    return value
