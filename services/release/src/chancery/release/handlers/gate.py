"""The way in: behind a barrier, every caller is authenticated against today's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.authority.access import authenticate, has_right, role_in
from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.states import PolicyState, PrincipalState, TenantState, WorkspaceState
from chancery.events.requests import Caller
from chancery.kernel.errors import Denied, NotFound, Unavailable
from chancery.release.domain.snapshot import Snapshot
from chancery.release.handlers.barrier import Barrier
from chancery.release.ports.stores import AuthorityReads


@dataclass(frozen=True, slots=True)
class Visitor:
    """An authenticated caller and the states that were read with them."""

    caller: Caller
    principal: PrincipalState
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Gate:
    """Reads states that hold every command acknowledged before the call."""

    barrier: Barrier
    reader: AuthorityReads

    async def look(
        self, tenant: str, refs: Sequence[AggregateRef], *, passed: int | None = None
    ) -> Snapshot:
        """Return the states of `refs` behind a barrier, or behind the one that was `passed`.

        Raises:
            Unavailable: log, projection or database are away or behind; nothing may be told.
        """
        if passed is None:
            passed = await self.barrier.pass_through()
        return await self.reader.read(tenant, refs, at_least=passed)

    async def enter(
        self, caller: Caller, refs: Sequence[AggregateRef] = (), *, passed: int | None = None
    ) -> Visitor:
        """Authenticate the caller and return the states of `refs` read with theirs.

        A barrier that was `passed` since the call came need not be passed again.

        Raises:
            Denied: the credential does not authenticate, or the tenant is suspended.
            Unavailable: as `look`.
        """
        snapshot = await self.look(caller.tenant, with_own(caller, refs), passed=passed)
        return authenticated(caller, snapshot)


def with_own(caller: Caller, refs: Sequence[AggregateRef]) -> tuple[AggregateRef, ...]:
    """Return `refs` behind the aggregates that a caller is authenticated by."""
    own = (tenant_ref(caller.tenant), principal_ref(caller.principal))
    return (*own, *(ref for ref in refs if ref not in own))


def authenticated(caller: Caller, snapshot: Snapshot) -> Visitor:
    """Return the caller as a visitor with a snapshot that was read behind a barrier.

    Raises:
        Denied: the credential does not authenticate, or the tenant is suspended.
    """
    principal = snapshot.typed(principal_ref(caller.principal), PrincipalState)
    authenticate(principal, caller.credential_id, caller.proof, snapshot.now)
    tenant = snapshot.typed(tenant_ref(caller.tenant), TenantState)
    if tenant is None or tenant.suspended or principal is None:
        message = "the tenant is suspended"
        raise Denied(message, code="tenant_suspended")
    return Visitor(caller, principal, snapshot)


def require_member(visitor: Visitor, workspace_id: str) -> None:
    """Refuse a workspace that does not exist, is closed, or has no such member: all the same.

    Raises:
        NotFound: in the same words for each.
    """
    workspace = visitor.snapshot.typed(workspace_ref(workspace_id), WorkspaceState)
    role = role_in(visitor.principal, workspace_id)
    if workspace is None or workspace.closed or not has_right(role, "reader"):
        raise not_found("workspace")


def policy_in(snapshot: Snapshot, workspace_id: str) -> PolicyState | None:
    """Return the policy that was set in a workspace; one that cannot be read is not "none".

    Raises:
        Unavailable: its aggregate is frozen.
    """
    ref = policy_ref(workspace_id)
    if ref in snapshot.frozen:
        message = "the workspace's policy cannot be read by this version"
        raise Unavailable(message, code="policy_unreadable")
    return snapshot.typed(ref, PolicyState)


def not_found(noun: str) -> NotFound:
    """Return the refusal for what is not there or may not be known to be there."""
    return NotFound(f"there is no such {noun}", code=f"{noun}_not_found")
