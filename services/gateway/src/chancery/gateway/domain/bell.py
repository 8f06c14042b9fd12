"""A bell of one run: it rings at nudges, and lets rows before the end wait for each other."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

GATHER_S: Final = 0.05
"""How long rows before a run's end may wait for others: each read of them is a disclosure."""


@dataclass(frozen=True, slots=True)
class Bell:
    """Rung by nudges, waited for by one stream of events."""

    gather_s: float = GATHER_S
    _rung: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def ring(self, *, is_last: bool) -> None:
        """Say that there is something new; after the last of a run nothing is waited for."""
        self._rung.set()
        if is_last:
            self._ended.set()

    async def wait(self, timeout_s: float) -> None:
        """Return `gather_s` after the next ring, at once at the last, else after `timeout_s`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
            async with asyncio.timeout(self.gather_s):
                await self._ended.wait()
        self._rung.clear()
