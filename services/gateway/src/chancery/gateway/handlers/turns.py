"""Turns of what few may do at a time: no caller and no tenant ever takes all of them."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from chancery.events.requests import Caller
from chancery.gateway.errors import TextsFull

WAIT_S: Final = 10.0
"""How long a request waits for its turn before it is refused."""

WAITING_OF_ONE_MAX: Final = 256
"""How many of one caller wait; more are refused at once."""

_LATER: Final = "too many texts are opened at the moment; send the same request again"

Who: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Turns:
    """Gives turns to callers one after the other, and to each in the order of asking."""

    at_once: int
    of_one_max: int
    of_tenant_max: int
    wait_s: float = WAIT_S
    waiting_of_one_max: int = WAITING_OF_ONE_MAX
    _held: Counter[Who] = field(default_factory=Counter[Who])
    _waiting: dict[Who, deque[asyncio.Future[None]]] = field(
        default_factory=dict[Who, "deque[asyncio.Future[None]]"]
    )

    @property
    def held_now(self) -> int:
        """Return how many turns are taken."""
        return self._held.total()

    @property
    def waiting_now(self) -> int:
        """Return how many wait for one."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncGenerator[None]:
        """Wait for a turn and keep it for the block.

        Raises:
            TextsFull: there was none in time, or too many of the caller wait already.
        """
        who = (caller.tenant, caller.principal)
        await self._take(who)
        try:
            yield
        finally:
            self._give_back(who)

    async def _take(self, who: Who) -> None:
        if who not in self._waiting and self._has_turn(who):
            self._held[who] += 1
            return
        queue = self._waiting.setdefault(who, deque())
        if len(queue) >= self.waiting_of_one_max:
            raise TextsFull(_LATER)
        given = asyncio.get_running_loop().create_future()
        queue.append(given)
        try:
            async with asyncio.timeout(self.wait_s):
                await given
        except BaseException as error:
            self._leave(who, given)
            if isinstance(error, TimeoutError):
                raise TextsFull(_LATER) from error
            raise

    def _leave(self, who: Who, given: asyncio.Future[None]) -> None:
        """Wait no longer; a turn that was given in the same moment goes to the next."""
        if given.done() and not given.cancelled():
            self._give_back(who)
            return
        queue = self._waiting.get(who, deque())
        if given in queue:
            queue.remove(given)
            if not queue:
                del self._waiting[who]

    def _give_back(self, who: Who) -> None:
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]
        self._give()

    def _give(self) -> None:
        """Give what is free to those who wait, a caller who gets one waits behind the others."""
        for who in tuple(self._waiting):
            if not self._has_turn(who):
                continue
            queue = self._waiting.pop(who)
            given = next((each for each in _popped(queue) if not each.done()), None)
            if queue:
                self._waiting[who] = queue
            if given is not None:
                self._held[who] += 1
                given.set_result(None)

    def _has_turn(self, who: Who) -> bool:
        of_tenant = sum(count for each, count in self._held.items() if each[0] == who[0])
        return (
            self.held_now < self.at_once
            and of_tenant < self.of_tenant_max
            and self._held[who] < self.of_one_max
        )


def _popped(queue: deque[asyncio.Future[None]]) -> Iterator[asyncio.Future[None]]:
    while queue:
        yield queue.popleft()
