"""Waiting for a condition, with a deadline: tests never sleep.

Between two looks passes as long as twice the last one took, so that looking takes a third of a
processor at most, but never less than a pause that begins short: most is there in a moment.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

FIRST_PAUSE_S = 0.005
LAST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.1
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
    pauses = Pauses(within_s)
    while True:
        found = condition()
        value = await found if inspect.isawaitable(found) else found
        if value:
            return value
        await asyncio.sleep(pauses.next_s(value))


def wait_until(condition: Callable[[], T], within_s: float = WITHIN_S) -> T:
    """Return the first true value of `condition`, blocking.

    Raises:
        AssertionError: with the last value, when there was none in time.
    """
    pauses = Pauses(within_s)
    while not (value := condition()):
        time.sleep(pauses.next_s(value))
    return value


class Pauses:
    """How long to pause after each look in vain, until the time is over."""

    def __init__(self, within_s: float) -> None:
        """Begin to count the time."""
        self._within_s = within_s
        self._began = self._looked = time.monotonic()
        self._pause_s = FIRST_PAUSE_S

    def next_s(self, value: object) -> float:
        """Return how long to pause after a look that took until now and found `value`.

        Raises:
            AssertionError: with the value, when the time is over.
        """
        now = time.monotonic()
        if now - self._began > self._within_s:
            message = f"not within {self._within_s} s; the last value was {value!r}"
            raise AssertionError(message)
        pause_s = min(max(self._pause_s, 2 * (now - self._looked)), LONGEST_PAUSE_S)
        self._pause_s = min(2 * self._pause_s, LAST_PAUSE_S)
        self._looked = now + pause_s
        return pause_s
