"""Commands on principals: groups, credentials, and tenants that a first credential creates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chancery.authority.errors import NotPermitted
from chancery.authority.names import Change, principal_ref, tenant_ref
from chancery.authority.rights import DEFAULT_TENANT, Actor, require_tenant_admin
from chancery.authority.states import PrincipalState, TenantState
from chancery.events.authority import (
    CredentialIssued,
    CredentialRevoked,
    GroupJoined,
    GroupLeft,
    TenantAdminGranted,
    TenantCreated,
)
from chancery.events.commands import IssueCredential, JoinGroup, LeaveGroup, RevokeCredential
from chancery.kernel.errors import NotFound, Rejected


@dataclass(frozen=True, slots=True)
class NewCredential:
    """The id and proof hash of a credential to be issued, and when it is decided."""

    credential_id: str
    proof_sha256: str
    issued_at: datetime


def decide_join_group(
    actor: Actor, principal: PrincipalState | None, command: JoinGroup
) -> tuple[Change, ...]:
    """Put a principal into a group; one who is in it already changes nothing.

    Raises:
        NotPermitted: unless the actor administers the tenant.
    """
    require_tenant_admin(actor)
    if principal is not None and command.group in principal.groups:
        return ()
    return (Change(principal_ref(command.principal), GroupJoined(group=command.group)),)


def decide_leave_group(
    actor: Actor, principal: PrincipalState | None, command: LeaveGroup
) -> tuple[Change, ...]:
    """Take a principal out of a group; one who is not in it changes nothing.

    Raises:
        NotPermitted: unless the actor administers the tenant.
    """
    require_tenant_admin(actor)
    if principal is None or command.group not in principal.groups:
        return ()
    return (Change(principal_ref(command.principal), GroupLeft(group=command.group)),)


def decide_issue_credential(
    actor: Actor, tenant: TenantState | None, command: IssueCredential, new: NewCredential
) -> tuple[Change, ...]:
    """Issue a credential; an unknown tenant is created with the principal as its administrator.

    `tenant` is the state of the tenant that the command names, the actor's own when it names none.
    All changes are of that tenant.

    Raises:
        NotPermitted: unless the actor administers the tenant; for another one, `default`.
        Rejected: with code `expiry_passed`.
    """
    require_tenant_admin(actor)
    named = command.tenant or actor.tenant
    if actor.tenant not in (named, DEFAULT_TENANT):
        # The same refusal whether or not the other tenant exists.
        message = "only the operator issues credentials for another tenant"
        raise NotPermitted(message, field="tenant")
    if command.expires_at is not None and command.expires_at <= new.issued_at:
        message = "expires_at has passed; name a later moment"
        raise Rejected(message, field="expires_at", code="expiry_passed")
    ref = principal_ref(command.principal)
    issued = CredentialIssued(
        credential_id=new.credential_id,
        proof_sha256=new.proof_sha256,
        expires_at=command.expires_at,
    )
    if tenant is not None:
        return (Change(ref, issued),)
    return (
        Change(tenant_ref(named), TenantCreated()),
        Change(ref, TenantAdminGranted()),
        Change(ref, issued),
    )


def decide_revoke_credential(
    actor: Actor, principal: PrincipalState | None, command: RevokeCredential
) -> tuple[Change, ...]:
    """End a credential; one that ended already changes nothing.

    Raises:
        NotFound: for an unknown credential, and for anybody else's when the actor is no
            administrator.
    """
    owner = actor.principal_id == command.principal
    credential = None if principal is None else principal.credentials.get(command.credential_id)
    if credential is None or not (owner or actor.state.tenant_admin):
        message = "there is no such credential for this caller"
        raise NotFound(message, field="credential_id")
    if credential.revoked:
        return ()
    revoked = CredentialRevoked(credential_id=command.credential_id)
    return (Change(principal_ref(command.principal), revoked),)


def decide_bootstrap(tenant: str, principal_id: str, new: NewCredential) -> tuple[Change, ...]:
    """Make the first tenant with its administrator and their credential, on an empty log."""
    ref = principal_ref(principal_id)
    issued = CredentialIssued(credential_id=new.credential_id, proof_sha256=new.proof_sha256)
    return (
        Change(tenant_ref(tenant), TenantCreated()),
        Change(ref, TenantAdminGranted()),
        Change(ref, issued),
    )
