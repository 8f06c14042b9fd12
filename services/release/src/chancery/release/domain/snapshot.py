"""States of several aggregates as one statement read them: the input of every decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from chancery.authority.names import AggregateRef
from chancery.authority.states import State
from chancery.evidence.receipt import ReadEntry

_S = TypeVar("_S", bound=State)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The states at `checkpoint` of the log; None says that the aggregate has no event.

    `now` is the database's clock in the same statement.
    """

    checkpoint: int
    now: datetime
    states: Mapping[AggregateRef, State | None]
    frozen: frozenset[AggregateRef]

    def typed(self, ref: AggregateRef, kind: type[_S]) -> _S | None:
        """Return the state of `ref` when it is there, of this kind and not frozen."""
        state = self.states.get(ref)
        return state if isinstance(state, kind) and ref not in self.frozen else None


@dataclass(frozen=True, slots=True)
class CutSnapshot:
    """A snapshot with what the receipt records: each aggregate's last event and the digest at C.

    `digest` is None while the projection has not passed the cut. `published` is the newest
    publication among the aggregates read.
    """

    snapshot: Snapshot
    entries: tuple[ReadEntry, ...]
    digest: bytes | None
    published: int
