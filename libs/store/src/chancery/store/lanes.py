"""Work of many callers done by few threads, a group at a time.

A hop to a thread and back costs as much as reading a small file. What is asked for while a group is
in work is the next group: a lone caller waits for nobody, and a hundred share a hop, and a sync.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

W = TypeVar("W")
R = TypeVar("R")

GROUP_MAX: Final = 64
CROWDED: Final = 8
"""How many callers have to wait before another thread helps."""


class Lanes(Generic[W, R]):
    """Runs `work` on groups in up to `threads` threads; it returns one outcome for each item."""

    def __init__(
        self, work: Callable[[Sequence[W]], Sequence[R | Exception]], *, name: str, threads: int
    ) -> None:
        """Prepare; the threads start when they are needed."""
        self._work = work
        self._threads = threads
        self._executor = ThreadPoolExecutor(threads, name)
        self._lock = threading.Lock()
        self._busy = 0
        self._waiting: list[tuple[W, asyncio.Future[R]]] = []

    async def do(self, item: W) -> R:
        """Return what `work` makes of `item`, or raise the exception that it returned for it."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append((item, future))
            starts = self._busy == 0 or (
                self._busy < self._threads and len(self._waiting) > CROWDED
            )
            self._busy += starts
        if starts:
            self._executor.submit(self._drain)
        return await future

    def _drain(self) -> None:
        while group := self._take():
            try:
                outcomes = self._work([item for item, _ in group])
            except Exception as error:  # noqa: BLE001 - the callers wait, and raise it.
                outcomes = [error] * len(group)
            _deliver(
                [(future, outcome) for (_, future), outcome in zip(group, outcomes, strict=True)]
            )

    def _take(self) -> list[tuple[W, asyncio.Future[R]]]:
        with self._lock:
            group, self._waiting = self._waiting[:GROUP_MAX], self._waiting[GROUP_MAX:]
            self._busy -= not group
            return group


def _deliver(outcomes: Sequence[tuple[asyncio.Future[R], R | Exception]]) -> None:
    """Hand the outcomes to the loops of those who asked, in one call each."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[R], R | Exception]]] = {}
    for future, outcome in outcomes:
        by_loop.setdefault(future.get_loop(), []).append((future, outcome))
    for loop, own in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, own)


def _settle(outcomes: Sequence[tuple[asyncio.Future[R], R | Exception]]) -> None:
    for future, outcome in outcomes:
        if future.done():
            continue  # Whoever asked waits no more.
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
