"""Who may run a statement now: nobody's statements keep those of others waiting for long."""

from __future__ import annotations

import asyncio
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
class Turns:
    """Gives turns: first within a principal, then among principals, each in order of arrival."""

    limits: TurnLimits = DEFAULT_LIMITS
    _lines: dict[Principal, _Line] = field(default_factory=dict[Principal, _Line])
    _running: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing running."""
        self._running = asyncio.Semaphore(self.limits.running)

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
            await self._take(line.turn)
            try:
                yield
            finally:
                self._running.release()
                line.turn.release()
        finally:
            line.held -= 1
            if not line.held:
                del self._lines[principal]

    async def _take(self, own: asyncio.Semaphore) -> None:
        until = asyncio.get_running_loop().time() + self.limits.wait_s
        try:
            async with asyncio.timeout_at(until):
                await own.acquire()
        except TimeoutError as error:
            raise TooManyQueries from error
        try:
            async with asyncio.timeout_at(until):
                await self._running.acquire()
        except TimeoutError as error:
            own.release()
            raise Busy from error
        except asyncio.CancelledError:
            own.release()
            raise
