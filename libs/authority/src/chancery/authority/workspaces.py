"""Commands on workspaces: create, close, members, answer policy."""

from __future__ import annotations

from typing import Final

from chancery.authority.access import has_right, role_in
from chancery.authority.names import Change, policy_ref, principal_ref, workspace_ref
from chancery.authority.policies import NO_POLICY
from chancery.authority.rights import (
    Actor,
    no_workspace,
    require_open,
    require_role,
    require_tenant_admin,
)
from chancery.authority.states import PolicyState, PrincipalState, WorkspaceState
from chancery.authority.wording import check_name
from chancery.events.authority import (
    MemberAdded,
    MemberRemoved,
    Mode,
    PolicyRevised,
    WorkspaceClosed,
    WorkspaceCreated,
)
from chancery.events.commands import (
    AddMember,
    CloseWorkspace,
    CreateWorkspace,
    RemoveMember,
    RevisePolicy,
)
from chancery.kernel.errors import Conflict, Rejected

_MODES: Final[tuple[Mode, ...]] = ("auto", "rag", "data", "rlm")


def decide_create_workspace(
    actor: Actor, workspace: WorkspaceState | None, command: CreateWorkspace
) -> tuple[Change, ...]:
    """Create the workspace and make its creator the first admin.

    Raises:
        NotPermitted: unless the actor administers the tenant.
        UnreadableText: for a title that cannot be shown.
        Conflict: with code `workspace_exists`.
    """
    require_tenant_admin(actor)
    check_name(command.title, field="title")
    if workspace is not None:
        message = "the workspace exists already; choose another workspace_id"
        raise Conflict(message, field="workspace_id", code="workspace_exists")
    created = WorkspaceCreated(title=command.title, creator=actor.principal_id)
    return (
        Change(workspace_ref(command.workspace_id), created),
        Change(
            principal_ref(actor.principal_id),
            MemberAdded(workspace_id=command.workspace_id, role="admin"),
        ),
    )


def decide_close_workspace(
    actor: Actor, workspace: WorkspaceState | None, command: CloseWorkspace
) -> tuple[Change, ...]:
    """Close the workspace for good; closing a closed one changes nothing.

    Raises:
        NotFound: for a workspace that the actor does not see.
        NotPermitted: unless the actor is its admin or administers the tenant.
    """
    member = role_in(actor.state, command.workspace_id)
    allowed = actor.state.tenant_admin or has_right(member, "admin")
    if workspace is None or (member is None and not allowed):
        raise no_workspace()
    if not allowed:
        require_role(actor, command.workspace_id, workspace, "admin")
    if workspace.closed:
        return ()
    return (Change(workspace_ref(command.workspace_id), WorkspaceClosed()),)


def decide_add_member(
    actor: Actor,
    workspace: WorkspaceState | None,
    principal: PrincipalState | None,
    command: AddMember,
) -> tuple[Change, ...]:
    """Give any principal a role; `principal` need not exist before.

    A tenant administrator may do so in any open workspace, so that one whose last admin left is
    not lost; the act stands on the log, and lets only its principal read.

    Raises:
        NotFound: for a workspace that the actor does not see.
        NotPermitted: unless the actor is its admin or administers the tenant.
    """
    if actor.state.tenant_admin:
        require_open(workspace)
    else:
        require_role(actor, command.workspace_id, workspace, "admin")
    before = None if principal is None else role_in(principal, command.workspace_id)
    if before == command.role:
        return ()
    added = MemberAdded(workspace_id=command.workspace_id, role=command.role)
    return (Change(principal_ref(command.principal), added),)


def decide_remove_member(
    actor: Actor,
    workspace: WorkspaceState | None,
    principal: PrincipalState | None,
    command: RemoveMember,
) -> tuple[Change, ...]:
    """Take a principal out; removing somebody who is no member changes nothing.

    Raises:
        NotFound: for a workspace that the actor does not see.
        NotPermitted: unless the actor is its admin.
    """
    require_role(actor, command.workspace_id, workspace, "admin")
    if principal is None or role_in(principal, command.workspace_id) is None:
        return ()
    removed = MemberRemoved(workspace_id=command.workspace_id)
    return (Change(principal_ref(command.principal), removed),)


def decide_revise_policy(
    actor: Actor,
    workspace: WorkspaceState | None,
    policy: PolicyState | None,
    command: RevisePolicy,
) -> tuple[Change, ...]:
    """Set the answer policy; the current one again changes nothing.

    Raises:
        NotFound: for a workspace that the actor does not see.
        NotPermitted: unless the actor is its admin.
        UnreadableText: for a name that cannot be shown.
        Rejected: with code `policy_revision_used` for a name that meant something else.
    """
    require_role(actor, command.workspace_id, workspace, "admin")
    check_name(command.policy_revision, field="policy_revision")
    modes: tuple[Mode, ...] = tuple(mode for mode in _MODES if mode in command.modes)
    wanted = (command.policy_revision, modes, command.language)
    if policy is not None and wanted == (policy.policy_revision, policy.modes, policy.language):
        return ()
    if command.policy_revision in _used(policy):
        message = "the policy_revision was used before; choose a new name"
        raise Rejected(message, field="policy_revision", code="policy_revision_used")
    revised = PolicyRevised(
        policy_revision=command.policy_revision, modes=modes, language=command.language
    )
    return (Change(policy_ref(command.workspace_id), revised),)


def _used(policy: PolicyState | None) -> set[str]:
    used = {NO_POLICY.policy_revision}
    return used if policy is None else {*used, *policy.earlier, policy.policy_revision}
