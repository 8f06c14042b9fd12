"""Who may run a statement now: nobody's statements keep those of others waiting for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from chancery.execution.errors import Busy, TooManyQueries

Principal = tuple[str, str]
"""A tenant and who asks in it."""


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How many statements run at a time, how many of them may be of one principal.

    A principal may have `held` statements here, running or waiting, each for `wait_s` at most.
    """

    running: int = 5
    running_each: int = 2
    held_each: int = 32
    wait_s: float = 25.0


DEFAULT_LIMITS = TurnLimits()


def turn_limits(processes: int) -> TurnLimits:
    """Return limits that leave one of several processes for runs, and half to other principals."""
    running = max(1, processes - 1)
    return TurnLimits(running=running, running_each=max(1, running // 2))


@dataclass(slots=True)
class _Line:
    """What one principal has here."""

    turn: asyncio.Semaphore
    held: int = 0


@dataclass(slots=True)
class _Places:
    """The places where statements run, and who waits for one.

    The next one goes to the tenant that has the fewest, of it to the principal that has the fewest,
    and of these to whoever has waited longest.
    """

    free: int
    _waiting: dict[asyncio.Future[None], Principal] = field(
        default_factory=dict[asyncio.Future[None], Principal]
    )
    _tenants: Counter[str] = field(default_factory=Counter[str])
    _principals: Counter[Principal] = field(default_factory=Counter[Principal])

    async def take(self, principal: Principal) -> None:
        """Wait for a place of `principal`."""
        given = asyncio.get_running_loop().create_future()
        self._waiting[given] = principal
        self._give()
        try:
            await given
        except asyncio.CancelledError:
            if self._waiting.pop(given, None) is None:
                self.leave(principal)
            raise

    def leave(self, principal: Principal) -> None:
        """Give a place of `principal` to the next one."""
        self.free += 1
        self._count(principal, -1)
        self._give()

    def _give(self) -> None:
        while self.free and self._waiting:
            given, principal = min(self._waiting.items(), key=lambda each: self._rank(each[1]))
            del self._waiting[given]
            self.free -= 1
            self._count(principal, 1)
            given.set_result(None)

    def _rank(self, principal: Principal) -> tuple[int, int]:
        return self._tenants[principal[0]], self._principals[principal]

    def _count(self, principal: Principal, change: int) -> None:
        """Keep who has how many places; whoever has none is not remembered."""
        self._tenants[principal[0]] += change
        self._principals[principal] += change
        if not self._tenants[principal[0]]:
            del self._tenants[principal[0]]
        if not self._principals[principal]:
            del self._principals[principal]


@dataclass(slots=True)
class Turns:
    """Gives turns: within a principal in order of arrival, then fairly by tenant and principal."""

    limits: TurnLimits = DEFAULT_LIMITS
    _lines: dict[Principal, _Line] = field(default_factory=dict[Principal, _Line])
    _places: _Places = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing running."""
        self._places = _Places(self.limits.running)

    @asynccontextmanager
    async def of(self, principal: Principal) -> AsyncGenerator[None]:
        """Hold a turn of `principal`.

        Raises:
            TooManyQueries: when it has too many here, or only its own kept this one waiting.
            Busy: when those of others did.
        """
        line = self._lines.setdefault(principal, _Line(asyncio.Semaphore(self.limits.running_each)))
        if line.held >= self.limits.held_each:
            raise TooManyQueries
        line.held += 1
        try:
            await self._take(line.turn, principal)
            try:
                yield
            finally:
                self._places.leave(principal)
                line.turn.release()
        finally:
            line.held -= 1
            if not line.held:
                del self._lines[principal]

    async def _take(self, own: asyncio.Semaphore, principal: Principal) -> None:
        until = asyncio.get_running_loop().time() + self.limits.wait_s
        try:
            async with asyncio.timeout_at(until):
                await own.acquire()
        except TimeoutError as error:
            raise TooManyQueries from error
        try:
            async with asyncio.timeout_at(until):
                await self._places.take(principal)
        except TimeoutError as error:
            own.release()
            raise Busy from error
        except asyncio.CancelledError:
            own.release()
            raise
