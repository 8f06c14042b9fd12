"""Work that waits in a table: one after the other, those of all tenants in turn, under a lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic

from chancery.indexing.domain.wishes import WorkT
from chancery.indexing.errors import LeaseLost
from chancery.indexing.handlers.leasing import USUAL, Renewing, hold
from chancery.indexing.ports import Waiting
from chancery.kernel.errors import ChanceryError, Conflict, Corrupt, Unavailable

POLL_S = 5.0
"""How long work that another process recorded or lost may wait."""

TENANTS_REMEMBERED = 1000
"""Of how many tenants it is known who was served last."""

_log = logging.getLogger("chancery.indexing")


@dataclass(slots=True)
class Turns(Generic[WorkT]):
    """Carries out what waits."""

    waiting: Waiting[WorkT]
    carry_out: Callable[[WorkT], Awaitable[None]]
    renewing: Renewing = USUAL
    _served: dict[str, None] = field(default_factory=dict[str, None])
    _recorded: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Say that something was recorded."""
        self._recorded.set()

    async def run(self) -> None:
        """Carry out what waits, for ever.

        Raises:
            Unavailable, Conflict: something is away, or others came first; run again.
        """
        while True:
            self._recorded.clear()
            while (one := await self.waiting.take(list(self._served))) is not None:
                self._note(one.ref.tenant)
                await self._take_turn(one)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._recorded.wait()

    def _note(self, tenant: str) -> None:
        """Put the tenant behind those that were served before it."""
        self._served.pop(tenant, None)
        self._served[tenant] = None
        if len(self._served) > TENANTS_REMEMBERED:
            del self._served[next(iter(self._served))]

    async def _take_turn(self, one: WorkT) -> None:
        try:
            await hold(self.carry_out(one), lambda: self.waiting.renew(one), self.renewing)
        except LeaseLost:
            _log.warning("%s %s was left to another process", one.ref.kind, one.ref.key)
            return
        except (Unavailable, Conflict):
            await self.waiting.give_back(one)
            raise
        except Corrupt as error:
            # Another build may read it: it stays here, and is taken again when its time is over.
            _log.warning("%s %s waits: %s", one.ref.kind, one.ref.key, error.code)
            return
        except ChanceryError as error:
            _log.warning("%s %s was not indexed: %s", one.ref.kind, one.ref.key, error.code)
        await self.waiting.end(one)
