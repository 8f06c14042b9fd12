"""A fixed number of workers that share a row of tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def at_once(workers: int, items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> float:
    """Do `work` on every item, `workers` at a time; return how many seconds it took."""
    left = iter(items)

    async def take() -> None:
        for item in left:
            await work(item)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(take())
    return time.perf_counter() - begun
