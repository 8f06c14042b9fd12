"""The barrier: after it, this process has seen every command acknowledged before the call.

One read of the log's end serves many callers, but a caller may share only a read that has not been
sent yet: one that is on its way may have been answered before the caller's own revocation was
acknowledged. Those who come while a read is on its way share the next one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TypeAlias

from chancery.kernel.errors import ChanceryError
from chancery.release.errors import LogRegressed
from chancery.release.ports import ReadEnd
from chancery.release.ports.position import Position

BARRIER_TIMEOUT_S = 2.0
"""How long the projection may take to pass the log's end."""

_Outcome: TypeAlias = int | ChanceryError | None


@dataclass(slots=True)
class Barrier:
    """`read_end` returns a sequence above every command acknowledged before it was called."""

    read_end: ReadEnd
    position: Position
    timeout_s: float = BARRIER_TIMEOUT_S
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unsent: asyncio.Future[_Outcome] | None = None

    async def pass_through(self) -> int:
        """Return the sequence that the projection has now passed.

        Raises:
            Unavailable: the log's leader did not answer, the projection is behind it, or the log
                ends before what was read of it.
        """
        outcome: _Outcome = None
        while outcome is None:
            outcome = await self._end()
        if isinstance(outcome, ChanceryError):
            raise outcome
        await self.position.wait(outcome, timeout_s=self.timeout_s)
        return outcome

    async def _end(self) -> _Outcome:
        """Return the log's end, the error of reading it, or None when its reader gave up."""
        if self._unsent is not None:
            return await asyncio.shield(self._unsent)
        shared: asyncio.Future[_Outcome] = asyncio.get_running_loop().create_future()
        self._unsent = shared
        try:
            async with self._turn:
                # From here on nobody joins: the read is being sent.
                self._unsent = None
                shared.set_result(await self._read())
        except ChanceryError as error:
            shared.set_result(error)
        finally:
            if self._unsent is shared:
                self._unsent = None
            if not shared.done():
                shared.set_result(None)
        return shared.result()

    async def _read(self) -> int:
        # What was read of a log lies before its end, unless somebody restored an older one.
        seen = self.position.sequence
        end = await self.read_end()
        if end < seen:
            raise regressed(end, seen)
        return end


def regressed(end: int, seen: int) -> LogRegressed:
    """Return the refusal to believe a log that ends at `end` after `seen` was read of it."""
    message = (
        f"the authority log ends at {end}, but {seen} was read of it: another one was restored"
    )
    return LogRegressed(message)
