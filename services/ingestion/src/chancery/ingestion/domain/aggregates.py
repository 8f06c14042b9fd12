"""An aggregate as it stands on the log, with what each of its events was caused by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from chancery.authority.evolve import Folded, fold
from chancery.authority.names import AggregateRef
from chancery.authority.states import State
from chancery.events.envelope import Event

S = TypeVar("S", bound=State)


@dataclass(frozen=True, slots=True)
class Record:
    """An event of an aggregate and its position."""

    sequence: int
    event: Event


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The folded state and every event by its id; the ids are what idempotency looks for."""

    folded: Folded = field(default_factory=Folded)
    records: Mapping[str, Record] = field(default_factory=dict[str, Record])

    @property
    def sequence(self) -> int:
        """Return the position of the aggregate's last event, 0 for none."""
        return self.folded.sequence

    def state(self, kind: type[S]) -> S | None:
        """Return the state, or None when the aggregate has no event."""
        state = self.folded.state
        assert state is None or isinstance(state, kind)
        return state


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where an aggregate stands on the log."""

    tenant: str
    ref: AggregateRef

    @property
    def subject(self) -> str:
        """Return the literal subject."""
        return self.ref.subject(self.tenant)


def continued(address: Address, aggregate: Aggregate, records: tuple[Record, ...]) -> Aggregate:
    """Return the aggregate after further events; those that it has already are skipped.

    Raises:
        BrokenRule: for an event that contradicts the aggregate; commands on it are refused.
    """
    if not records:
        return aggregate
    folded, known = aggregate.folded, dict(aggregate.records)
    for record in records:
        folded = fold(address.ref.kind, folded, record.sequence, record.event.data)
        known.setdefault(record.event.id, record)
    return Aggregate(folded, known)
