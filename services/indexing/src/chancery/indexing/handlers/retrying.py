"""Trying again by themselves the snapshots that failed for a reason that passes (see `attempts`).

Each goes the way of what takes long: one process tries it, beside what others wait for. Until the
last attempt it is pending, and says which attempt comes next and why the one before failed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chancery.indexing.handlers.slowly import Slowly
from chancery.indexing.ports import Retries

EVERY_S = 15.0
"""How much later than it is due an attempt may be asked for."""

AT_ONCE = 20
"""How many are asked for in one round."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """Has due attempts made, round after round."""

    retries: Retries
    slowly: Slowly
    every_s: float = EVERY_S

    async def run(self) -> None:
        """Ask for what is due, for ever.

        Raises:
            Unavailable: the store is away; run again.
        """
        while True:
            await self.ask_for_due()
            await asyncio.sleep(self.every_s)

    async def ask_for_due(self) -> None:
        """Have the attempts made that are due; one that is asked for already is asked for once.

        Raises:
            Unavailable: the store is away.
        """
        for slow in await self.retries.due(AT_ONCE):
            await self.slowly.record(slow)
