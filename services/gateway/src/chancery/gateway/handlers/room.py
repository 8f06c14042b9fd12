"""How much of the bodies of requests may be in memory, all of them together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from chancery.events.requests import Caller
from chancery.gateway.errors import BodiesFull

WHOLE_BYTES: Final = 64 * 1024 * 1024
"""What bodies that have arrived may take, when they are in memory as a whole."""

COPIES: Final = 3
"""How often such a body counts: its bytes, what they are parsed to, and what that becomes."""

ARRIVING_MAX: Final = 64
"""Bodies that arrive at the same time; each has at most `ARRIVING_BYTES` in memory."""

ARRIVING_BYTES: Final = 3 * 1024 * 1024 // 2
"""Of a form, whose parser keeps 1 MiB; of any other body less than a third of this."""

ARRIVING_OF_ONE_MAX: Final = 16
"""How many of them one caller may send, so that others are never kept out by one."""

ARRIVING_OF_TENANT_MAX: Final = 32
"""How many of them the callers of one tenant may send, so that another tenant has places."""

WAIT_S: Final = 10.0
"""How long a body waits for its room before the request is refused."""

Who = tuple[str, str]


@dataclass(slots=True)
class Room:
    """Places for bodies that arrive, and bytes for bodies that are in memory as a whole.

    Who holds bytes may hold a place, and never waits for one: that cannot lock itself up. Bytes are
    given in the order of asking, and one body always fits.
    """

    whole_bytes: int = WHOLE_BYTES
    arriving_max: int = ARRIVING_MAX
    of_one_max: int = ARRIVING_OF_ONE_MAX
    of_tenant_max: int = ARRIVING_OF_TENANT_MAX
    wait_s: float = WAIT_S
    _arriving: Counter[Who] = field(default_factory=Counter[Who])
    _taken: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def arriving_now(self) -> int:
        """Return how many bodies are arriving."""
        return self._arriving.total()

    @property
    def whole_now(self) -> int:
        """Return how many bytes are taken by bodies in memory."""
        return self._taken

    @property
    def held(self) -> int:
        """Return how many bytes of bodies there may be in memory now."""
        return self._taken + ARRIVING_BYTES * self.arriving_now

    @asynccontextmanager
    async def arriving(self, caller: Caller) -> AsyncGenerator[None]:
        """Take a place for a body of `caller` for as long as the block lasts.

        Raises:
            BodiesFull: when none was free in time.
        """
        who = (caller.tenant, caller.principal)
        await self._wait_for_place(who)
        try:
            yield
        finally:
            self._arriving[who] -= 1
            if not self._arriving[who]:
                del self._arriving[who]
            self._freed.set()

    @asynccontextmanager
    async def whole(self, size_bytes: int) -> AsyncGenerator[None]:
        """Take the bytes of a body with its copies for as long as the block lasts.

        Raises:
            BodiesFull: when there was no room in time.
        """
        needed = COPIES * size_bytes
        await self._wait_for_bytes(needed)
        try:
            yield
        finally:
            self._taken -= needed
            self._freed.set()

    async def _wait_for_place(self, who: Who) -> None:
        async with _in_time(self.wait_s):
            while not self._has_place(who):
                await self._wait()
            self._arriving[who] += 1

    def _has_place(self, who: Who) -> bool:
        of_tenant = sum(count for each, count in self._arriving.items() if each[0] == who[0])
        return (
            self.arriving_now < self.arriving_max
            and of_tenant < self.of_tenant_max
            and self._arriving[who] < self.of_one_max
        )

    async def _wait_for_bytes(self, needed: int) -> None:
        async with _in_time(self.wait_s), self._turn:
            while self._taken and self._taken + needed > self.whole_bytes:
                await self._wait()
            self._taken += needed

    async def _wait(self) -> None:
        self._freed.clear()
        await self._freed.wait()


@asynccontextmanager
async def _in_time(wait_s: float) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(wait_s):
            yield
    except TimeoutError as error:
        message = "too much is being uploaded at the moment; send the same request again"
        raise BodiesFull(message, field="body") from error
