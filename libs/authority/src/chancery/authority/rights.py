"""Who acts, and what they must be allowed to before a command is decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chancery.authority.access import authenticate, has_right, role_in, visible_to
from chancery.authority.errors import NotPermitted, Withdrawn
from chancery.authority.states import (
    ItemState,
    PrincipalState,
    Readable,
    SourceState,
    TenantState,
    WorkspaceState,
)
from chancery.events.authority import Role
from chancery.kernel.errors import Denied, NotFound, Rejected

DEFAULT_TENANT = "default"
"""The tenant of the operator; its administrators may create other tenants."""


@dataclass(frozen=True, slots=True)
class Actor:
    """An authenticated principal of an active tenant, as the log knows it."""

    tenant: str
    principal_id: str
    state: PrincipalState


@dataclass(frozen=True, slots=True)
class Claim:
    """Who somebody says to be, and the proof; `proof` is SHA-256 of the secret's text in hex."""

    tenant: str
    principal_id: str
    credential_id: str
    proof: str


def admit(
    claim: Claim, tenant: TenantState | None, principal: PrincipalState | None, now: datetime
) -> Actor:
    """Return the actor that the claim proves to be.

    Raises:
        Denied: for a credential that does not authenticate, or with code `tenant_suspended`.
    """
    authenticate(principal, claim.credential_id, claim.proof, now)
    if tenant is None or principal is None:
        message = "the credential does not authenticate the caller"
        raise Denied(message)
    if tenant.suspended:
        message = "the tenant is suspended"
        raise Denied(message, code="tenant_suspended")
    return Actor(claim.tenant, claim.principal_id, principal)


def admit_sender(
    tenant_id: str, principal_id: str, tenant: TenantState | None, principal: PrincipalState | None
) -> Actor:
    """Return the actor that the bus vouches for: it lets nobody else send in that name.

    Raises:
        Denied: for a principal that the log does not know, or with code `tenant_suspended`.
    """
    if tenant is None or principal is None:
        message = "the log knows no such principal; make it a member of a workspace first"
        raise Denied(message, code="unknown_principal")
    if tenant.suspended:
        message = "the tenant is suspended"
        raise Denied(message, code="tenant_suspended")
    return Actor(tenant_id, principal_id, principal)


def require_tenant_admin(actor: Actor) -> None:
    """Refuse an actor who does not administer the tenant.

    Raises:
        NotPermitted: without a name.
    """
    if not actor.state.tenant_admin:
        message = "this needs a tenant administrator"
        raise NotPermitted(message)


def require_role(
    actor: Actor, workspace_id: str, workspace: WorkspaceState | None, least: Role
) -> Role:
    """Return the actor's role in an open workspace, at least `least`.

    Raises:
        NotFound: for no member, as for a workspace that does not exist.
        NotPermitted: for a member of a lower role.
        Rejected: with code `workspace_closed`, told to members only.
    """
    role = role_in(actor.state, workspace_id)
    if workspace is None or role is None or not has_right(role, "reader"):
        raise no_workspace()
    if not has_right(role, least):
        message = f"this needs the role {least} in the workspace"
        raise NotPermitted(message)
    require_open(workspace)
    return role


def require_open(workspace: WorkspaceState | None) -> None:
    """Refuse a workspace that does not exist, or takes no command any more.

    Raises:
        NotFound: as for a workspace that the actor does not see.
        Rejected: with code `workspace_closed`.
    """
    if workspace is None:
        raise no_workspace()
    if workspace.closed:
        message = "the workspace is closed; create another one"
        raise Rejected(message, field="workspace_id", code="workspace_closed")


def require_visible(actor: Actor, resource: Readable) -> None:
    """Refuse a resource that the actor, a member of its workspace, may not see.

    Raises:
        NotFound: as for a resource that does not exist.
    """
    if not visible_to(actor.state, resource, principal_id=actor.principal_id):
        raise no_resource()


def require_kept(resource: Readable) -> None:
    """Refuse a source that was erased: it takes no command any more.

    Raises:
        Rejected: with code `source_erased`.
    """
    if isinstance(resource, SourceState) and resource.erased:
        message = "the source was erased; declare another one"
        raise Rejected(message, field="source_id", code="source_erased")


def require_publishable(resource: Readable, *, restore: bool) -> None:
    """Refuse to let something withdrawn serve again, unless `restore` asks for that.

    Raises:
        Withdrawn: naming what asks for it.
    """
    if not resource.withdrawn or restore:
        return
    if isinstance(resource, ItemState):
        raise Withdrawn("item")
    raise Withdrawn("source" if isinstance(resource, SourceState) else "dataset")


def require_grantable(resource: Readable) -> None:
    """Refuse to grant what is private: it is its declarer's alone, and nobody would gain anything.

    Raises:
        Rejected: with code `private_resource`, told to the declarer only.
    """
    if resource.visibility == "private":
        message = (
            "an item keeps its visibility: make another one that is restricted, and grant that"
            if isinstance(resource, ItemState)
            else "what is private is its declarer's alone: make it restricted first, then grant it"
        )
        raise Rejected(message, field="visibility", code="private_resource")


def no_workspace() -> NotFound:
    """Return the refusal of a workspace that the caller does not see."""
    return NotFound("there is no such workspace for this caller", field="workspace_id")


def no_resource() -> NotFound:
    """Return the refusal of a source, dataset or item that the caller does not see."""
    message = "there is no such source, dataset or item for this caller; declare it first"
    return NotFound(message)
