"""The turns of documents that others wait for: who has kept them waiting goes aside for a while.

A document that is stopped after its brief time has cost everybody that time. So the next documents
of the same publisher are read by themselves, untried, and the more of them the more often in a row
that happens. One that is read in time ends it, unless another one was stopped meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from chancery.extract.refusals import TEXTS, TakesLong

AT_ONCE: Final = 4
"""Documents that are fetched, read and stored at a time; more of them than are parsed at a time."""

ASIDE_FIRST: Final = 8
ASIDE_MAX: Final = 1024
"""How many documents go aside after one that took long, and after many in a row."""

REMEMBERED: Final = 1000
"""Of how many publishers it is known that they kept others waiting."""

Who: TypeAlias = tuple[str, str | None]
"""A tenant and the principal that published; None where the document comes again unpublished."""


@dataclass(slots=True)
class _Aside:
    length: int
    left: int


@dataclass(slots=True)
class Briefly:
    """Gives turns in the order of asking."""

    at_once: int = AT_ONCE
    _aside: dict[Who, _Aside] = field(default_factory=dict[Who, _Aside])
    _turn: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nobody aside."""
        self._turn = asyncio.Semaphore(self.at_once)

    @asynccontextmanager
    async def turn(self, who: Who) -> AsyncGenerator[None]:
        """Wait for a turn and keep it for the block, which raises `TakesLong` when it was stopped.

        Raises:
            TakesLong: the document has to go aside; or what the block raises.
        """
        async with self._turn:
            if self._goes_aside(who):
                raise TakesLong(TEXTS[TakesLong.code])
            known = self._aside.get(who)
            try:
                yield
            except TakesLong:
                self._send_aside(who, known)
                raise
        # What was found out since it began says more than it does.
        if known is not None and self._aside.get(who) is known:
            del self._aside[who]

    def _goes_aside(self, who: Who) -> bool:
        aside = self._aside.get(who)
        if aside is None or not aside.left:
            return False
        aside.left -= 1
        return True

    def _send_aside(self, who: Who, known: _Aside | None) -> None:
        """Send the next documents aside; those that were tried at the same time count as one.

        `known` is what was known when this one began: one that was read in time beside it, and
        ended it, does not count.
        """
        before = self._aside.pop(who, known)
        if before is not None and before.left:
            self._aside[who] = before
            return
        length = ASIDE_FIRST if before is None else min(2 * before.length, ASIDE_MAX)
        self._aside[who] = _Aside(length, length)
        if len(self._aside) > REMEMBERED:
            del self._aside[next(iter(self._aside))]
