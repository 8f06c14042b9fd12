"""A bound on the bytes that everything in this process may hold of one kind at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Share:
    """The bytes that one holder has of a budget."""

    def __init__(self, budget: Budget, size_bytes: int) -> None:
        """Hold `size_bytes`, which the budget has given."""
        self._budget = budget
        self.size_bytes = size_bytes

    def shrink(self, size_bytes: int) -> None:
        """Give back all but `size_bytes`."""
        assert 0 <= size_bytes <= self.size_bytes
        given, self.size_bytes = self.size_bytes - size_bytes, size_bytes
        self._budget.give_back(given)


class Budget:
    """Gives shares of at most `each_max` of `bytes_max` bytes, in the order they are asked for.

    How large a blob is shows only when it is read: hold `each_max`, read, then shrink.
    """

    def __init__(self, bytes_max: int, each_max: int) -> None:
        """Begin with everything free."""
        assert each_max <= bytes_max
        self.each_max = each_max
        self.free_bytes = bytes_max
        self._waiting = deque[asyncio.Future[None]]()

    @asynccontextmanager
    async def share(self) -> AsyncGenerator[Share]:
        """Wait until `each_max` bytes are free, hold them, and give back what is left of them."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            self._forget(turn)
            raise
        held = Share(self, self.each_max)
        try:
            yield held
        finally:
            held.shrink(0)

    def give_back(self, size_bytes: int) -> None:
        """Take bytes back, and give them to whoever waits."""
        self.free_bytes += size_bytes
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self.free_bytes >= self.each_max:
            turn = self._waiting.popleft()
            if not turn.done():
                self.free_bytes -= self.each_max
                turn.set_result(None)

    def _forget(self, turn: asyncio.Future[None]) -> None:
        """Take a share back that was given to somebody who is gone."""
        if turn.done() and not turn.cancelled():
            self.give_back(self.each_max)
