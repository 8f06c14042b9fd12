"""What a scope says of each thing that a run may use, and whether the asker may use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from chancery.authority.access import ColumnView, column_view, has_right, role_in
from chancery.authority.names import AggregateRef, principal_ref
from chancery.authority.pin_reasons import Case, pin_reason
from chancery.authority.release import Pinned, ReleaseRequest, Root
from chancery.authority.states import (
    DatasetState,
    FileState,
    ItemState,
    PrincipalState,
    SourceState,
    State,
)
from chancery.events.days import known_day
from chancery.events.index import ResourceKind
from chancery.events.queries import IndexState
from chancery.evidence.corpora import Row
from chancery.evidence.scope import ScopeEntry
from chancery.extract.items import version_pin
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.snapshot import Snapshot

Usable: TypeAlias = SourceState | DatasetState | ItemState | FileState
"""What a run can rest on."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A source, dataset, item or file with its index entry, as the projections have them."""

    ref: AggregateRef
    state: Usable | None
    frozen: bool
    entry: IndexEntry | None


@dataclass(frozen=True, slots=True)
class Published:
    """What a workspace had published up to a place of the log."""

    workspace_id: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges resources for one asker by the states and the rules that the seal goes by."""

    case: Case

    def allows(self, resource: Resource) -> bool:
        """Tell whether the asker may use the resource now, with everything that it rests on."""
        state = resource.state
        if state is None or resource.frozen or state.serving is None:
            return False
        pin = _pin(resource.ref, state, state.serving)
        return pin_reason(self.case, pin) is None


def judge(snapshot: Snapshot, request: ReleaseRequest, resources: Iterable[Resource]) -> Judge:
    """Return the judge of `resources`, which hold the roots of every item among them."""
    states: dict[AggregateRef, State | None] = {
        ref: None if ref in snapshot.frozen else state for ref, state in snapshot.states.items()
    }
    states |= {each.ref: None if each.frozen else each.state for each in resources}
    principal = snapshot.typed(principal_ref(request.principal_id), PrincipalState)
    return Judge(Case(states, request, principal or PrincipalState()))


def roots_of(resources: Iterable[Resource]) -> frozenset[AggregateRef]:
    """Return the evidence roots of the items among `resources` that serve."""
    items = (each.state for each in resources if isinstance(each.state, ItemState))
    return frozenset(
        AggregateRef(root.kind, root.key)
        for item in items
        if item.serving is not None
        for root in item.versions[item.serving - 1].evidence
    )


def scope_entry(snapshot: Snapshot, principal_id: str, resource: Resource) -> ScopeEntry:
    """Return the entry of a usable resource with the hashes that the index pins."""
    state, entry = resource.state, resource.entry
    assert state is not None
    assert state.serving is not None
    revision = state.revisions[state.serving - 1]
    if entry is not None and entry.content_sha256 != revision.content_sha256:
        entry = None
    pinned = None if entry is None else entry.ready
    view = column_view_of(snapshot, principal_id, state)
    is_item = isinstance(state, ItemState)
    return ScopeEntry(
        kind=kind_of(state),
        key=resource.ref.id,
        id=name_of(resource.ref, state),
        title=title_of(state),
        revision=state.serving,
        content_sha256=revision.content_sha256,
        media_type=revision.media_type,
        extraction_sha256=None if pinned is None else pinned.extraction_sha256,
        manifest_sha256=None if pinned is None else pinned.manifest_sha256,
        state=index_state(entry),
        index_sequence=0 if entry is None else entry.sequence,
        reason=missing_reason(entry) if _knows_why(snapshot, principal_id, state) else None,
        hidden_columns=() if view is None else view.hidden,
        row_filters=() if view is None else view.row_filters,
        hidden_measures=() if view is None else view.hidden_measures,
        pin=version_pin(resource.ref.id, state, state.serving) if is_item else None,
    )


def index_state(entry: IndexEntry | None) -> IndexState:
    """Return the index state of a revision that serves.

    Its exclusion as withdrawn or superseded is out of date: indexing has yet to see that it serves.
    """
    if entry is None or (entry.state == "excluded" and entry.reason in {"withdrawn", "superseded"}):
        return "pending"
    return entry.state


def missing_reason(entry: IndexEntry | None) -> str | None:
    """Return the code of why a revision that serves failed or is unavailable."""
    if entry is None or entry.state not in {"failed", "unavailable"}:
        return None
    return entry.reason


def knows_why(principal: PrincipalState | None, state: Usable) -> bool:
    """Tell whether the principal may be told why a revision failed or is unavailable.

    Why a table could not be made can tell of columns, rules and rows that a reader does not see.
    """
    if not isinstance(state, DatasetState):
        return True
    role = None if principal is None else role_in(principal, state.workspace_id)
    return has_right(role, "publisher")


def _knows_why(snapshot: Snapshot, principal_id: str, state: Usable) -> bool:
    return knows_why(snapshot.typed(principal_ref(principal_id), PrincipalState), state)


def column_view_of(snapshot: Snapshot, principal_id: str, state: Usable) -> ColumnView | None:
    """Return what the principal does not see of a dataset; of others there is nothing hidden."""
    if not isinstance(state, DatasetState):
        return None
    principal = snapshot.typed(principal_ref(principal_id), PrincipalState)
    role = None if principal is None else role_in(principal, state.workspace_id)
    return None if role is None else column_view(state, role)


def kind_of(state: Usable) -> ResourceKind:
    """Return what kind of thing a state is of."""
    match state:
        case SourceState():
            return "source"
        case DatasetState():
            return "dataset"
        case ItemState():
            return "item"
        case FileState():
            return "file"


def name_of(ref: AggregateRef, state: Usable) -> str:
    """Return the id that a reader uses: inside the workspace, or of a file its own."""
    match state:
        case SourceState():
            return state.source_id
        case DatasetState():
            return state.dataset_id
        case ItemState():
            return state.item_id
        case FileState():
            return ref.id


def title_of(state: Usable) -> str:
    """Return the title; of an item that of its newest version, before one of its newest draft."""
    if isinstance(state, ItemState):
        described = state.described
        return state.item_id if described is None else described.title
    return state.title


def corpus_row(state: Usable) -> Row | None:
    """Return what a corpus may be made of, or None for what no corpus takes in."""
    if state.serving is None or isinstance(state, DatasetState | FileState):
        return None
    media_type = state.revisions[state.serving - 1].media_type
    if isinstance(state, ItemState):
        return Row(model="Version", media_type=media_type, live=True)
    return Row(
        model="Revision",
        media_type=media_type,
        live=True,
        authority=state.authority,
        date=known_day(state.date),
    )


def _pin(ref: AggregateRef, state: Usable, revision: int) -> Pinned:
    evidence = state.versions[revision - 1].evidence if isinstance(state, ItemState) else ()
    roots = tuple(
        Root(each.kind, each.key, each.revision, each.content_sha256) for each in evidence
    )
    return Pinned(kind_of(state), ref.id, revision, roots=roots)
