"""Admission: from a question and today's states to the scope of its run, or to a refusal.

What is selected and unreadable, and what is selected and does not exist, are one case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chancery.authority.access import column_view, may_read, role_in
from chancery.authority.names import (
    AggregateRef,
    dataset_ref,
    policy_ref,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.release import Allow, ReleaseRequest, decide_release
from chancery.authority.states import (
    DatasetState,
    PolicyState,
    PrincipalState,
    ResourceState,
    SourceState,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import Mode
from chancery.events.index import ResourceKind
from chancery.events.queries import IndexState
from chancery.events.release import Outcome
from chancery.events.run import Bounds, Filters
from chancery.evidence.scope import SCOPE_ENTRIES_MAX, ScopeEntry
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.snapshot import Snapshot

_KINDS: Mapping[Mode, tuple[ResourceKind, ...]] = {
    "auto": ("source", "dataset"),
    "rag": ("source",),
    "data": ("dataset",),
    "rlm": ("source", "dataset"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked and by whom; selections are ids inside the workspace."""

    tenant: str
    principal: str
    credential_id: str
    workspace_id: str
    mode: Mode
    bounds: Bounds
    sources: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)

    @property
    def selected(self) -> tuple[AggregateRef, ...]:
        """Return the sources and datasets that were selected; empty selects everything."""
        sources = (source_ref(self.workspace_id, each) for each in self.sources)
        datasets = (dataset_ref(self.workspace_id, each) for each in self.datasets)
        return (*sources, *datasets)

    @property
    def kinds(self) -> tuple[ResourceKind, ...]:
        """Return the kinds of resource that the mode searches."""
        return _KINDS[self.mode]

    @property
    def place(self) -> tuple[AggregateRef, ...]:
        """Return the aggregates that every decision about the question reads."""
        return (
            tenant_ref(self.tenant),
            principal_ref(self.principal),
            workspace_ref(self.workspace_id),
            policy_ref(self.workspace_id),
        )


@dataclass(frozen=True, slots=True)
class Resource:
    """A source or dataset with its index entry, as the projections have them."""

    ref: AggregateRef
    state: ResourceState | None
    frozen: bool
    entry: IndexEntry | None


@dataclass(frozen=True, slots=True)
class Admitted:
    """The run may search these entries."""

    entries: tuple[ScopeEntry, ...]


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """The run ends here; `entries` are what the coverage of the refusal is told from."""

    outcome: Outcome
    entries: tuple[ScopeEntry, ...] = ()


def admit(
    question: Question, snapshot: Snapshot, resources: Iterable[Resource]
) -> Admitted | NotAdmitted:
    """Decide the scope of a question over `resources`: the selected, or all of the workspace."""
    if not _place_allows(question, snapshot):
        return NotAdmitted("access_changing")
    if question.mode == "rlm":
        return NotAdmitted("rlm_unsupported")
    found = {each.ref: each for each in resources}
    if question.items or question.files or not _all_usable(question, snapshot, found):
        return NotAdmitted("source_access")
    entries = tuple(
        scope_entry(snapshot, question, each)
        for each in found.values()
        if each.ref.kind in question.kinds
        and passes(question.filters, each.state)
        and is_usable(question, snapshot, each)
    )
    eligible = [entry for entry in entries if entry.state != "excluded"]
    if len(eligible) > SCOPE_ENTRIES_MAX:
        return NotAdmitted("scope_too_wide")
    if len(eligible) < question.bounds.min_sources:
        return NotAdmitted("insufficient_evidence", tuple(eligible))
    return Admitted(tuple(eligible))


def passes(filters: Filters, state: ResourceState | None) -> bool:
    """Tell whether a resource is what was asked for; what has no such attribute is not."""
    if filters == Filters():
        return True
    if not isinstance(state, SourceState):
        return False
    if filters.authority and state.authority not in filters.authority:
        return False
    if filters.date_from is None and filters.date_to is None:
        return True
    # Days of one form sort as their texts do.
    day = state.date
    return day is not None and (filters.date_from or day) <= day <= (filters.date_to or day)


def is_usable(question: Question, snapshot: Snapshot, resource: Resource) -> bool:
    """Tell whether the asker may read the resource and a revision of it serves."""
    state = resource.state
    if state is None or resource.frozen or state.serving is None:
        return False
    return may_read(
        snapshot.typed(tenant_ref(question.tenant), TenantState),
        snapshot.typed(workspace_ref(question.workspace_id), WorkspaceState),
        snapshot.typed(principal_ref(question.principal), PrincipalState),
        state,
        principal_id=question.principal,
    )


def scope_entry(snapshot: Snapshot, question: Question, resource: Resource) -> ScopeEntry:
    """Return the entry of a usable resource with the hashes that the index pins."""
    state, entry = resource.state, resource.entry
    assert state is not None
    assert state.serving is not None
    revision = state.revisions[state.serving - 1]
    if entry is not None and entry.content_sha256 != revision.content_sha256:
        entry = None
    pinned = None if entry is None else entry.ready
    is_dataset = isinstance(state, DatasetState)
    principal = snapshot.typed(principal_ref(question.principal), PrincipalState)
    role = None if principal is None else role_in(principal, state.workspace_id)
    view = column_view(state, role) if is_dataset and role is not None else None
    return ScopeEntry(
        kind="dataset" if is_dataset else "source",
        key=resource.ref.id,
        id=state.dataset_id if is_dataset else state.source_id,
        title=state.title,
        revision=state.serving,
        content_sha256=revision.content_sha256,
        media_type=revision.media_type,
        extraction_sha256=None if pinned is None else pinned.extraction_sha256,
        manifest_sha256=None if pinned is None else pinned.manifest_sha256,
        state=index_state(entry),
        index_sequence=0 if entry is None else entry.sequence,
        hidden_columns=() if view is None else view.hidden,
        row_filters=() if view is None else view.row_filters,
        hidden_measures=() if view is None else view.hidden_measures,
    )


def index_state(entry: IndexEntry | None) -> IndexState:
    """Return the index state of a revision that serves.

    Its exclusion as withdrawn or superseded is out of date: indexing has yet to see that it serves.
    """
    if entry is None or (entry.state == "excluded" and entry.reason in {"withdrawn", "superseded"}):
        return "pending"
    return entry.state


def _place_allows(question: Question, snapshot: Snapshot) -> bool:
    policy = snapshot.typed(policy_ref(question.workspace_id), PolicyState)
    holds = effective_policy(policy)
    wanted = question.bounds.policy_revision
    if wanted is not None and wanted != holds.policy_revision:
        return False
    request = ReleaseRequest(
        tenant=question.tenant,
        principal_id=question.principal,
        credential_id=question.credential_id,
        owner_id=question.principal,
        workspace_id=question.workspace_id,
        policy_revision=holds.policy_revision,
        policy_sha256=policy_hash(policy),
        mode=holds.modes[0] if question.mode == "rlm" else question.mode,
        pinned=(),
    )
    decision = decide_release(snapshot.states, snapshot.frozen, request, snapshot.now)
    return isinstance(decision, Allow)


def _all_usable(
    question: Question, snapshot: Snapshot, found: Mapping[AggregateRef, Resource]
) -> bool:
    return all(
        ref in found and is_usable(question, snapshot, found[ref]) for ref in question.selected
    )
