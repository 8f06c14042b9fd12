"""The decision to release an answer, and the decision to disclose one again."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from chancery.authority.access import effective_expiry, expired, has_right, role_in
from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.pin_reasons import Case, pin_reason
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.release_request import (
    READ_SET_MAX,
    CorpusPin,
    Pinned,
    Reason,
    ReleaseRequest,
    Root,
    States,
    disclosure_set,
    read_set,
    state_of,
)
from chancery.authority.states import (
    CorpusState,
    PolicyState,
    PrincipalState,
    TenantState,
    WorkspaceState,
)

__all__ = (
    "READ_SET_MAX",
    "Allow",
    "CorpusPin",
    "Decision",
    "Deny",
    "Pinned",
    "Reason",
    "ReleaseRequest",
    "Root",
    "States",
    "decide_disclosure",
    "decide_release",
    "disclosure_set",
    "read_set",
)


@dataclass(frozen=True, slots=True)
class Allow:
    """It may be released until `expires_at` (None: no end is known)."""

    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not be released."""

    reason: Reason


Decision: TypeAlias = Allow | Deny


def decide_release(
    states: States,
    frozen: AbstractSet[AggregateRef],
    request: ReleaseRequest,
    decided_at: datetime,
) -> Decision:
    """Decide whether the answer may be sealed; `states` holds every member of the read set.

    The whole selected set decides: one member that is unread, frozen, unreadable, withdrawn or
    moved on denies all of it, and so does a policy or corpus that is not the admitted one.
    """
    unread = _unread(states, frozen, read_set(request))
    if unread is not None:
        return Deny(unread)
    reason = _policy_reason(states, request) or _corpus_reason(states, request)
    return _decide(states, request, decided_at, reason)


def decide_disclosure(
    states: States,
    frozen: AbstractSet[AggregateRef],
    request: ReleaseRequest,
    now: datetime,
) -> Decision:
    """Decide with today's state whether sealed bytes may be sent; a denial withholds all of them.

    A later policy or declaration of the corpus does not withhold what was sealed under the earlier
    one.
    """
    unread = _unread(states, frozen, disclosure_set(request))
    if unread is not None:
        return Deny(unread)
    return _decide(states, request, now, None)


def _unread(
    states: States, frozen: AbstractSet[AggregateRef], refs: tuple[AggregateRef, ...]
) -> Reason | None:
    if any(ref not in states for ref in refs):
        return "unread"
    return "frozen" if any(ref in frozen for ref in refs) else None


def _decide(
    states: States, request: ReleaseRequest, now: datetime, rules: Reason | None
) -> Decision:
    principal = state_of(states, principal_ref(request.principal_id), PrincipalState)
    if principal is None:
        return Deny("credential")
    reason = _place_reason(states, request) or _caller_reason(principal, request, now) or rules
    if reason is not None:
        return Deny(reason)
    case = Case(states, request, principal)
    for pin in request.pinned:
        reason = pin_reason(case, pin)
        if reason is not None:
            return Deny(reason)
    return Allow(effective_expiry(principal, request.credential_id))


def _place_reason(states: States, request: ReleaseRequest) -> Reason | None:
    tenant = state_of(states, tenant_ref(request.tenant), TenantState)
    if tenant is None or tenant.suspended:
        return "tenant"
    workspace = state_of(states, workspace_ref(request.workspace_id), WorkspaceState)
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
    state = state_of(states, ref, PolicyState)
    if state is None and states[ref] is not None:
        return "policy"
    policy = effective_policy(state)
    same = policy.policy_revision == request.policy_revision
    same = same and policy_hash(state) == request.policy_sha256
    return None if same and request.mode in policy.modes else "policy"


def _corpus_reason(states: States, request: ReleaseRequest) -> Reason | None:
    pin = request.corpus
    if pin is None:
        return None
    corpus = state_of(states, pin.ref, CorpusState)
    if corpus is None or corpus.workspace_id != request.workspace_id:
        return "corpus"
    return None if corpus.declaration_sha256 == pin.declaration_sha256 else "corpus"
