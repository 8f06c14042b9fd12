"""Turns of which every tenant has the same share, however much one of them has waiting."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

_Waiting: TypeAlias = "deque[asyncio.Future[None]]"


@dataclass(slots=True)
class Fairly:
    """Gives `at_once` turns: tenants that wait have one after the other, each its own in order.

    Nobody waits while a turn is free.
    """

    at_once: int = 1
    _taken: int = 0
    _waiting: dict[str, _Waiting] = field(default_factory=dict[str, _Waiting])

    @asynccontextmanager
    async def turn(self, tenant: str) -> AsyncGenerator[None]:
        """Wait for a turn and keep it for the block."""
        if self._taken < self.at_once:
            self._taken += 1
        else:
            await self._handed_over(tenant)
        try:
            yield
        finally:
            self._hand_over()

    async def _handed_over(self, tenant: str) -> None:
        """Wait until a turn is handed over; whoever is cut off by then gives it on."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._hand_over()
            raise

    def _hand_over(self) -> None:
        while self._waiting:
            tenant = next(iter(self._waiting))
            waiting = self._waiting.pop(tenant)
            first = waiting.popleft()
            if waiting:
                self._waiting[tenant] = waiting
            if not first.done():
                first.set_result(None)
                return
        self._taken -= 1
