"""Turns of which every tenant has the same share, however much one of them has waiting.

A delivery that waits takes a place from those of all tenants. So only so many wait here, and of one
tenant only a part of them; the others go aside and wait where no delivery does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from chancery.extract.refusals import TEXTS, TakesLong

WAITING_MAX: Final = 64
"""How many deliveries wait for a turn: a quarter of those that its consumer has in hand."""

TENANTS_FULL: Final = 4
"""How many tenants it takes to fill that up."""

_Waiting: TypeAlias = "deque[asyncio.Future[None]]"


@dataclass(slots=True)
class Fairly:
    """Gives `at_once` turns: tenants that wait have one after the other, each its own in order.

    Nobody waits while a turn is free.
    """

    at_once: int = 1
    waiting_max: int = WAITING_MAX
    _taken: int = 0
    _waiting: dict[str, _Waiting] = field(default_factory=dict[str, _Waiting])

    @asynccontextmanager
    async def turn(self, tenant: str, *, is_brief: bool = False) -> AsyncGenerator[None]:
        """Wait for a turn and keep it for the block.

        What is not brief has waited elsewhere: it comes before what its tenant has waiting here.

        Raises:
            TakesLong: too many wait already, when `is_brief`.
        """
        if self._taken < self.at_once:
            self._taken += 1
        elif is_brief and self._is_full_for(tenant):
            raise TakesLong(TEXTS[TakesLong.code])
        else:
            await self._handed_over(tenant, is_first=not is_brief)
        try:
            yield
        finally:
            self._hand_over()

    def _is_full_for(self, tenant: str) -> bool:
        own = len(self._waiting.get(tenant, ()))
        waiting = sum(len(each) for each in self._waiting.values())
        return waiting >= self.waiting_max or own >= self.waiting_max // TENANTS_FULL

    async def _handed_over(self, tenant: str, *, is_first: bool) -> None:
        """Wait until a turn is handed over; whoever is cut off by then gives it on."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(tenant, deque())
        if is_first:
            waiting.appendleft(mine)
        else:
            waiting.append(mine)
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
