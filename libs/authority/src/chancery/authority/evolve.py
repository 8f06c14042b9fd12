"""The fold: what an event makes of its aggregate, and which events contradict it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from chancery.authority.errors import BrokenRule
from chancery.authority.evolve_access import (
    evolve_policy,
    evolve_principal,
    evolve_tenant,
    evolve_workspace,
)
from chancery.authority.evolve_knowledge import evolve_corpus, evolve_file, evolve_item
from chancery.authority.evolve_resources import evolve_dataset, evolve_source
from chancery.authority.states import (
    CorpusState,
    DatasetState,
    FileState,
    ItemState,
    PolicyState,
    PrincipalState,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.events.envelope import EventData

_S = TypeVar("_S", bound=State)


@dataclass(frozen=True, slots=True)
class Folded:
    """An aggregate as of its last event; sequence 0 and no state mean that it has none."""

    sequence: int = 0
    state: State | None = None


def evolve(kind: str, state: State | None, data: EventData) -> State:
    """Return the state after `data`; rights were checked when the command was decided.

    Raises:
        BrokenRule: for an unknown kind, a foreign event, or one that contradicts the aggregate.
    """
    match kind:
        case "tenant":
            return evolve_tenant(_typed(state, TenantState), data)
        case "workspace":
            return evolve_workspace(_typed(state, WorkspaceState), data)
        case "principal":
            return evolve_principal(_typed(state, PrincipalState), data)
        case "source":
            return evolve_source(_typed(state, SourceState), data)
        case "dataset":
            return evolve_dataset(_typed(state, DatasetState), data)
        case "policy":
            return evolve_policy(_typed(state, PolicyState), data)
        case _:
            return _evolve_knowledge(kind, state, data)


def fold(kind: str, folded: Folded, sequence: int, data: EventData) -> Folded:
    """Return the aggregate after the event at `sequence`; one that was folded before is skipped.

    Raises:
        BrokenRule: as `evolve` does.
    """
    if sequence <= folded.sequence:
        return folded
    return Folded(sequence, evolve(kind, folded.state, data))


def _evolve_knowledge(kind: str, state: State | None, data: EventData) -> State:
    match kind:
        case "item":
            return evolve_item(_typed(state, ItemState), data)
        case "corpus":
            return evolve_corpus(_typed(state, CorpusState), data)
        case "file":
            return evolve_file(_typed(state, FileState), data)
        case _:
            message = "the aggregate kind is unknown to this build"
            raise BrokenRule(message, field="kind")


def _typed(state: State | None, kind: type[_S]) -> _S | None:
    if state is not None and not isinstance(state, kind):
        message = "the stored state is of another kind"
        raise BrokenRule(message, field="state")
    return state
