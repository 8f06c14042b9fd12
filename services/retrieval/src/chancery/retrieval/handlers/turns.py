"""Work that is done one after the other, beside whoever asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Turns:
    """Does each work when the one before it is done; what follows a failed one is not done."""

    _group: asyncio.TaskGroup
    _last: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is being done."""
        return self._last is None or self._last.done()

    def take(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have `work` done when what was taken before is done."""
        self._last = self._group.create_task(_after(self._last, work))

    async def done(self) -> None:
        """Wait until nothing is being done.

        Raises:
            Exception: what a work raised.
        """
        if self._last is not None:
            await _over(self._last)
            self._last.result()

    async def aclose(self) -> None:
        """Wait until nothing is being done, whether or not it failed."""
        if self._last is not None:
            await _over(self._last)


@asynccontextmanager
async def turns() -> AsyncGenerator[Turns]:
    """Yield the turns of a block, which ends, however it does, when the work under way is over.

    A thread cannot be cancelled: nobody else may begin while it still writes.

    Raises:
        Exception: what a work raised; the block is cancelled then.
    """
    try:
        async with asyncio.TaskGroup() as group, aclosing(Turns(group)) as taken:
            yield taken
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _after(before: asyncio.Task[None] | None, work: Callable[[], Awaitable[None]]) -> None:
    if before is not None:
        await _over(before)
        before.result()
    await work()


async def _over(task: asyncio.Task[None]) -> None:
    """Wait for `task`; unlike awaiting it, this does not cancel it when the wait is cancelled."""
    await asyncio.wait({task})
