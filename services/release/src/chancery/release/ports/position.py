"""How far this process knows the projection to be, and who waits for it to come further."""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from chancery.release.errors import BehindLog

_Waiter: TypeAlias = tuple[int, int, asyncio.Future[None]]


@dataclass(slots=True)
class Position:
    """A sequence that only rises; `wait` returns as soon as it has been passed.

    `generation` is of the bus connection for which the log was last found to be the right one.
    """

    sequence: int = 0
    generation: int = field(default=0, kw_only=True)
    _waiters: list[_Waiter] = field(default_factory=list[_Waiter])
    _order: count[int] = field(default_factory=count)

    @property
    def is_awaited(self) -> bool:
        """Tell whether somebody waits for a higher sequence."""
        return bool(self._waiters)

    def advance(self, sequence: int) -> None:
        """Move to `sequence` and wake those who waited for it."""
        self.sequence = max(self.sequence, sequence)
        while self._waiters and self._waiters[0][0] <= self.sequence:
            _, _, waiter = heapq.heappop(self._waiters)
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        """Return once `sequence` has been passed.

        Raises:
            BehindLog: not within `timeout_s`.
        """
        if self.sequence >= sequence:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiters, (sequence, next(self._order), waiter))
        try:
            async with asyncio.timeout(timeout_s):
                await waiter
        except TimeoutError as error:
            message = "the authority projection is behind the log; retry in a moment"
            raise BehindLog(message) from error
        finally:
            self._forget(waiter)

    def _forget(self, waiter: asyncio.Future[None]) -> None:
        if any(each is waiter for _, _, each in self._waiters):
            self._waiters = [item for item in self._waiters if item[2] is not waiter]
            heapq.heapify(self._waiters)
