"""States of several aggregates as one statement read them: the input of every decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from chancery.authority.names import AggregateRef
from chancery.authority.states import State

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
