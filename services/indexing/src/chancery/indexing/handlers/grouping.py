"""Deliveries that come together are announced together: one transaction, one batch on the log.

Whoever's turn it is takes along all that waits; whatever arrives meanwhile is the next group. So a
lone event waits for nobody, and a thousand share their commits. A group that fails is tried again
one by one, so that one bad resource fails alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from chancery.indexing.handlers.progress import Announcer, Asking, Progress
from chancery.kernel.errors import ChanceryError, Unavailable

GROUP_MAX = 128
"""How many deliveries share a transaction."""


@dataclass(slots=True)
class Announcements:
    """Announces for many deliveries at a time."""

    announcer: Announcer
    _waiting: list[Asking] = field(default_factory=list[Asking])
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def announce(self, asking: Asking) -> Progress:
        """Bring the resource up to its log, with whatever else waits.

        Raises:
            Conflict, Unavailable, Corrupt: as `Announcer.announce`, of this resource.
        """
        self._waiting.append(asking)
        try:
            async with self._turn:
                if not asking.is_done:
                    await self._announce(self._group(asking))
        finally:
            if asking in self._waiting:
                self._waiting.remove(asking)
        return asking.result()

    def _group(self, own: Asking) -> list[Asking]:
        """Take the own delivery and the longest waiting others."""
        others = [one for one in self._waiting if one is not own]
        group = [own, *others[: GROUP_MAX - 1]]
        self._waiting = [one for one in others if one not in group]
        return group

    async def _announce(self, group: list[Asking]) -> None:
        try:
            await self._try(group)
        finally:
            # Cut off in the middle: the others take their own turn.
            self._waiting[:0] = [one for one in group[1:] if not one.is_done]

    async def _try(self, group: list[Asking]) -> None:
        try:
            await self.announcer.announce(group)
        except Unavailable as error:
            for one in group:
                one.error = error
        except ChanceryError as error:
            if len({one.ref for one in group}) == 1:
                for one in group:
                    one.error = error
                return
            for one in group:
                await self._try([one])
