"""The decision to release an answer, and the decision to disclose one again."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar

from chancery.authority.access import (
    Rows,
    column_view,
    effective_expiry,
    expired,
    has_right,
    may_read,
    role_in,
)
from chancery.authority.errors import ScopeTooWide
from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.states import (
    DatasetState,
    PolicyState,
    PrincipalState,
    ResourceState,
    SourceState,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import Mode
from chancery.events.index import ResourceKind

READ_SET_MAX: Final = 900
"""The most aggregates that one cut can name."""

Reason = Literal[
    "unread",
    "frozen",
    "tenant",
    "workspace",
    "credential",
    "expired",
    "not_owner",
    "not_member",
    "not_readable",
    "withdrawn",
    "superseded",
    "fields",
    "policy",
]
"""Why not; for records and metrics, never shown to the caller."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """One exact revision or snapshot that an answer rests on, cited or not.

    `columns` are the dataset's columns that were read; `row_filters` those that were applied while
    reading rows, or None when no row was read.
    """

    kind: ResourceKind
    key: str
    revision: int
    columns: tuple[str, ...] = ()
    row_filters: Rows | None = None

    @property
    def ref(self) -> AggregateRef:
        """Return the aggregate that the pin is about."""
        return AggregateRef(self.kind, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRequest:
    """What a decision is asked about.

    `principal_id` asks with `credential_id`; `owner_id` owns the conversation. To disclose, name
    the reader and the reader's credential. `policy_sha256` is `policy_hash` at admission. `pinned`
    is everything selected and gathered, cited or not.
    """

    tenant: str
    principal_id: str
    credential_id: str
    owner_id: str
    workspace_id: str
    policy_revision: str
    policy_sha256: str
    mode: Mode
    pinned: tuple[Pinned, ...]


@dataclass(frozen=True, slots=True)
class Allow:
    """It may be released until `expires_at` (None: no end is known)."""

    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not be released."""

    reason: Reason


Decision: TypeAlias = Allow | Deny
States: TypeAlias = Mapping[AggregateRef, State | None]
"""The states at one position of the log; None says that the aggregate has no event."""
_S = TypeVar("_S", bound=State)


def read_set(request: ReleaseRequest) -> tuple[AggregateRef, ...]:
    """Return every aggregate that `decide_release` reads, sorted, each once.

    Raises:
        ScopeTooWide: for more than 900.
    """
    return _bounded({*disclosure_set(request), policy_ref(request.workspace_id)})


def disclosure_set(request: ReleaseRequest) -> tuple[AggregateRef, ...]:
    """Return every aggregate that `decide_disclosure` reads, sorted, each once.

    Raises:
        ScopeTooWide: for more than 900.
    """
    fixed = (
        tenant_ref(request.tenant),
        principal_ref(request.principal_id),
        workspace_ref(request.workspace_id),
    )
    return _bounded({*fixed, *(pin.ref for pin in request.pinned)})


def decide_release(
    states: States,
    frozen: AbstractSet[AggregateRef],
    request: ReleaseRequest,
    decided_at: datetime,
) -> Decision:
    """Decide whether the answer may be sealed; `states` holds every member of the read set.

    The whole selected set decides: one member that is unread, frozen, unreadable, withdrawn or
    moved on denies all of it, and so does a policy that is not the admitted one.
    """
    unread = _unread(states, frozen, read_set(request))
    if unread is not None:
        return Deny(unread)
    return _decide(states, request, decided_at, _policy_reason(states, request))


def decide_disclosure(
    states: States,
    frozen: AbstractSet[AggregateRef],
    request: ReleaseRequest,
    now: datetime,
) -> Decision:
    """Decide with today's state whether sealed bytes may be sent; a denial withholds all of them.

    A later policy does not withhold what was sealed under the earlier one.
    """
    unread = _unread(states, frozen, disclosure_set(request))
    if unread is not None:
        return Deny(unread)
    return _decide(states, request, now, None)


def _bounded(refs: AbstractSet[AggregateRef]) -> tuple[AggregateRef, ...]:
    if len(refs) > READ_SET_MAX:
        message = f"the question touches more than {READ_SET_MAX} things; select fewer sources"
        raise ScopeTooWide(message, field="sources")
    return tuple(sorted(refs))


def _unread(
    states: States, frozen: AbstractSet[AggregateRef], refs: tuple[AggregateRef, ...]
) -> Reason | None:
    if any(ref not in states for ref in refs):
        return "unread"
    return "frozen" if any(ref in frozen for ref in refs) else None


def _decide(
    states: States, request: ReleaseRequest, now: datetime, policy: Reason | None
) -> Decision:
    principal = _typed(states, principal_ref(request.principal_id), PrincipalState)
    if principal is None:
        return Deny("credential")
    reason = _place_reason(states, request) or _caller_reason(principal, request, now) or policy
    if reason is not None:
        return Deny(reason)
    for pin in request.pinned:
        reason = _pin_reason(states, request, principal, pin)
        if reason is not None:
            return Deny(reason)
    return Allow(effective_expiry(principal, request.credential_id))


def _place_reason(states: States, request: ReleaseRequest) -> Reason | None:
    tenant = _typed(states, tenant_ref(request.tenant), TenantState)
    if tenant is None or tenant.suspended:
        return "tenant"
    workspace = _typed(states, workspace_ref(request.workspace_id), WorkspaceState)
    return "workspace" if workspace is None or workspace.closed else None


def _caller_reason(
    principal: PrincipalState, request: ReleaseRequest, now: datetime
) -> Reason | None:
    credential = principal.credentials.get(request.credential_id)
    if credential is None or credential.revoked:
        return "credential"
    if expired(credential, now):
        return "expired"
    if request.principal_id != request.owner_id:
        return "not_owner"
    member = has_right(role_in(principal, request.workspace_id), "reader")
    return None if member else "not_member"


def _policy_reason(states: States, request: ReleaseRequest) -> Reason | None:
    ref = policy_ref(request.workspace_id)
    state = _typed(states, ref, PolicyState)
    if state is None and states[ref] is not None:
        return "policy"
    policy = effective_policy(state)
    same = policy.policy_revision == request.policy_revision
    same = same and policy_hash(state) == request.policy_sha256
    return None if same and request.mode in policy.modes else "policy"


def _pin_reason(
    states: States, request: ReleaseRequest, principal: PrincipalState, pin: Pinned
) -> Reason | None:
    resource = _resource(states, pin)
    if resource is None or resource.workspace_id != request.workspace_id:
        return "not_readable"
    tenant = _typed(states, tenant_ref(request.tenant), TenantState)
    workspace = _typed(states, workspace_ref(request.workspace_id), WorkspaceState)
    asker = request.principal_id
    if not may_read(tenant, workspace, principal, resource, principal_id=asker):
        return "not_readable"
    if resource.serving is None:
        return "withdrawn"
    if resource.serving != pin.revision:
        return "superseded"
    return _field_reason(resource, principal, pin)


def _field_reason(resource: ResourceState, principal: PrincipalState, pin: Pinned) -> Reason | None:
    if not isinstance(resource, DatasetState):
        return None
    role = role_in(principal, resource.workspace_id)
    if role is None:
        return "not_member"
    view = column_view(resource, role)
    hidden = {name.casefold() for name in view.hidden}
    if any(name.casefold() in hidden for name in pin.columns):
        return "fields"
    moved = pin.row_filters is not None and pin.row_filters != view.row_filters
    return "fields" if moved else None


def _resource(states: States, pin: Pinned) -> ResourceState | None:
    match pin.kind:
        case "source":
            return _typed(states, pin.ref, SourceState)
        case "dataset":
            return _typed(states, pin.ref, DatasetState)
        case _:
            return None


def _typed(states: States, ref: AggregateRef, kind: type[_S]) -> _S | None:
    state = states.get(ref)
    return state if isinstance(state, kind) else None
