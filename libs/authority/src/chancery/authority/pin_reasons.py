"""Why one pinned revision, snapshot, version or file must not be released to its asker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from chancery.authority.access import column_view, may_read, may_read_file, role_in
from chancery.authority.names import AggregateRef, tenant_ref, workspace_ref
from chancery.authority.release_request import (
    Pinned,
    Reason,
    ReleaseRequest,
    Root,
    States,
    state_of,
)
from chancery.authority.states import (
    DatasetState,
    FileState,
    ItemState,
    PrincipalState,
    Readable,
    SourceState,
    TenantState,
    WorkspaceState,
)

_Type: TypeAlias = type[SourceState] | type[DatasetState] | type[ItemState]
_TYPES: dict[str, _Type] = {"source": SourceState, "dataset": DatasetState, "item": ItemState}


@dataclass(frozen=True, slots=True)
class Case:
    """The states that decide, the request, and the state of who asks."""

    states: States
    request: ReleaseRequest
    principal: PrincipalState


def pin_reason(case: Case, pin: Pinned) -> Reason | None:
    """Return why the pin denies, None when it does not; an unknown kind denies."""
    if pin.kind == "file":
        return _file_reason(case, pin)
    resource = _readable(case, pin.ref)
    if resource is None:
        return "not_readable"
    if isinstance(resource, ItemState) and not resource.admissible(pin.revision):
        return "not_readable"
    reason = _serving_reason(resource.serving, pin.revision)
    if reason is not None:
        return reason
    match resource:
        case SourceState():
            return None
        case DatasetState():
            return _field_reason(case, resource, pin)
        case ItemState():
            return _roots_reason(case, resource, pin)


def _serving_reason(serving: int | None, pinned: int) -> Reason | None:
    if serving is None:
        return "withdrawn"
    return None if serving == pinned else "superseded"


def _file_reason(case: Case, pin: Pinned) -> Reason | None:
    """Decide on a private file, which belongs to no workspace: only its owner may read it."""
    tenant = state_of(case.states, tenant_ref(case.request.tenant), TenantState)
    file = state_of(case.states, pin.ref, FileState)
    asker = case.request.principal_id
    if file is None or file.owner != asker:
        return "not_readable"
    if file.deleted:
        return "withdrawn"
    if not may_read_file(tenant, case.principal, file, principal_id=asker):
        return "not_readable"
    return _serving_reason(file.serving, pin.revision)


def _field_reason(case: Case, dataset: DatasetState, pin: Pinned) -> Reason | None:
    role = role_in(case.principal, dataset.workspace_id)
    if role is None:
        return "not_member"
    view = column_view(dataset, role)
    hidden = {name.casefold() for name in view.hidden}
    if any(name.casefold() in hidden for name in pin.columns):
        return "fields"
    moved = pin.row_filters is not None and pin.row_filters != view.row_filters
    return "fields" if moved else None


def _roots_reason(case: Case, item: ItemState, pin: Pinned) -> Reason | None:
    """Check all evidence of the version, as the log names it: a pin cannot leave a root out."""
    evidence = item.versions[pin.revision - 1].evidence
    wanted = {Root(each.kind, each.key, each.revision, each.content_sha256) for each in evidence}
    if set(pin.roots) != wanted:
        return "not_readable"
    for root in pin.roots:
        reason = _root_reason(case, root)
        if reason is not None:
            return reason
    return None


def _root_reason(case: Case, root: Root) -> Reason | None:
    resource = _readable(case, root.ref)
    if resource is None:
        return "not_readable"
    if resource.withdrawn:
        return "withdrawn"
    if not 1 <= root.revision <= len(resource.revisions):
        return "not_readable"
    found = resource.revisions[root.revision - 1]
    return None if found.content_sha256 == root.content_sha256 else "not_readable"


def _readable(case: Case, ref: AggregateRef) -> Readable | None:
    """Return the resource when it stands in the question's workspace and the asker may read it."""
    request, states = case.request, case.states
    wanted = _TYPES.get(ref.kind)
    resource = None if wanted is None else state_of(states, ref, wanted)
    if resource is None or resource.workspace_id != request.workspace_id:
        return None
    tenant = state_of(states, tenant_ref(request.tenant), TenantState)
    workspace = state_of(states, workspace_ref(request.workspace_id), WorkspaceState)
    asker = request.principal_id
    readable = may_read(tenant, workspace, case.principal, resource, principal_id=asker)
    return resource if readable else None
