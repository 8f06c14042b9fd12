"""What the parts of release ask of each other without knowing who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from chancery.bus.load import Stored
from chancery.release.domain.marks import Mark
from chancery.store.pool import Connection

ReadEnd: TypeAlias = Callable[[], Awaitable[int]]
"""Returns a sequence of the log above every command acknowledged before the call."""


class Applier(Protocol):
    """Stores what messages change; one serves one turn as the writer and is then dropped."""

    async def apply(
        self, connection: Connection, table_set: int, mark: Mark, messages: Sequence[Stored]
    ) -> Mark | None:
        """Store the fold of `messages` and the mark behind them; None when the mark had moved."""
        ...
