"""Table sets as an operator sees them, and who rebuilds them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from chancery.release.domain.marks import Mark

ProjectionName: TypeAlias = Literal["authority", "index"]

LogEnds: TypeAlias = Callable[[str], Awaitable[int]]
"""Returns where the log of a projection ends."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A projection's mark, in which table set it is, and of which stream."""

    table_set: int
    stream_created: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rebuild is; `per_s` is its rate so far, `left_s` None when nobody can tell."""

    projection: str
    sequence: int
    last: int
    per_s: float
    left_s: float | None


@dataclass(frozen=True, slots=True)
class TableSet:
    """A table set as the database has it."""

    projection: str
    is_live: bool
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the live authority set keeps back."""

    quarantined: int
    frozen: int


@dataclass(frozen=True, slots=True)
class Switched:
    """What a switch did: from which set to which, and the digest that both had at `sequence`."""

    projection: str
    before: int
    after: int
    sequence: int
    digest: bytes


class Rebuilding(Protocol):
    """Rebuilds one projection beside the live one."""

    @property
    def name(self) -> ProjectionName:
        """Return which."""
        ...

    async def rebuild(self, report: Callable[[Progress], None]) -> Checkpoint:
        """Fill the set beside the live one up to the end of the log."""
        ...

    async def switch(self) -> Switched:
        """Make the rebuilt set live, when its digest is the live one's."""
        ...
