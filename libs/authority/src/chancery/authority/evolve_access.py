"""Folds of tenants, workspaces, principals and policies."""

from __future__ import annotations

from chancery.authority.changed import changed
from chancery.authority.policies import NO_POLICY
from chancery.authority.rules import existing, foreign, require
from chancery.authority.states import (
    Credential,
    PolicyState,
    PrincipalState,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import (
    CredentialIssued,
    CredentialRevoked,
    GroupJoined,
    GroupLeft,
    MemberAdded,
    MemberRemoved,
    PolicyRevised,
    TenantAdminGranted,
    TenantAdminRevoked,
    TenantCreated,
    TenantResumed,
    TenantSuspended,
    WorkspaceClosed,
    WorkspaceCreated,
)
from chancery.events.envelope import EventData


def evolve_tenant(state: TenantState | None, data: EventData) -> TenantState:
    """Return the tenant after `data`."""
    match data:
        case TenantCreated():
            require("a tenant is created once", holds=state is None)
            return TenantState()
        case TenantSuspended():
            require("a suspended tenant is not suspended", holds=not existing(state).suspended)
            return TenantState(suspended=True)
        case TenantResumed():
            require("only a suspended tenant is resumed", holds=existing(state).suspended)
            return TenantState()
        case _:
            raise foreign(data)


def evolve_workspace(state: WorkspaceState | None, data: EventData) -> WorkspaceState:
    """Return the workspace after `data`."""
    match data:
        case WorkspaceCreated():
            require("a workspace is created once", holds=state is None)
            return WorkspaceState(title=data.title, creator=data.creator)
        case WorkspaceClosed():
            require("a workspace is closed once", holds=not existing(state).closed)
            return changed(existing(state), closed=True)
        case _:
            raise foreign(data)


def evolve_principal(state: PrincipalState | None, data: EventData) -> PrincipalState:
    """Return the principal after `data`; the first event makes the principal exist."""
    before = PrincipalState() if state is None else state
    match data:
        case CredentialIssued() | CredentialRevoked():
            return _evolve_credentials(before, data)
        case MemberAdded() | MemberRemoved():
            return _evolve_memberships(before, data)
        case GroupJoined() | GroupLeft():
            return _evolve_groups(before, data)
        case TenantAdminGranted():
            require("an administrator is not made one again", holds=not before.tenant_admin)
            return changed(before, tenant_admin=True)
        case TenantAdminRevoked():
            require("only an administrator stops being one", holds=before.tenant_admin)
            return changed(before, tenant_admin=False)
        case _:
            raise foreign(data)


def evolve_policy(state: PolicyState | None, data: EventData) -> PolicyState:
    """Return the policy after `data`; the name of a revision is used once."""
    if not isinstance(data, PolicyRevised):
        raise foreign(data)
    earlier = () if state is None else (*state.earlier, state.policy_revision)
    fresh = data.policy_revision not in {NO_POLICY.policy_revision, *earlier}
    require("a policy revision has a name of its own", holds=fresh)
    return PolicyState(data.policy_revision, data.modes, data.language, earlier)


def _evolve_credentials(
    before: PrincipalState, data: CredentialIssued | CredentialRevoked
) -> PrincipalState:
    known = before.credentials.get(data.credential_id)
    if isinstance(data, CredentialIssued):
        require("a credential is issued once", holds=known is None)
        after = Credential(data.proof_sha256, data.expires_at)
    else:
        held = existing(known)
        require("a credential is revoked once", holds=not held.revoked)
        after = changed(held, revoked=True)
    return changed(before, credentials={**before.credentials, data.credential_id: after})


def _evolve_memberships(
    before: PrincipalState, data: MemberAdded | MemberRemoved
) -> PrincipalState:
    role = before.memberships.get(data.workspace_id)
    if isinstance(data, MemberAdded):
        require("a member gets another role than before", holds=role != data.role)
        return changed(before, memberships={**before.memberships, data.workspace_id: data.role})
    require("only a member is removed", holds=role is not None)
    left = {place: role for place, role in before.memberships.items() if place != data.workspace_id}
    return changed(before, memberships=left)


def _evolve_groups(before: PrincipalState, data: GroupJoined | GroupLeft) -> PrincipalState:
    inside = data.group in before.groups
    if isinstance(data, GroupJoined):
        require("a group is joined once", holds=not inside)
        return changed(before, groups=tuple(sorted({*before.groups, data.group})))
    require("only a joined group is left", holds=inside)
    return changed(before, groups=tuple(group for group in before.groups if group != data.group))
