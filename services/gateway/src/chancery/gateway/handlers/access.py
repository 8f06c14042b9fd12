"""Workspaces, members, groups, credentials and policy."""

from __future__ import annotations

from fastapi import APIRouter

from chancery.authority.tokens import build_token, secret_for
from chancery.events import commands, queries
from chancery.gateway.domain.bodies import (
    CredentialBody,
    CredentialReply,
    MemberBody,
    Membership,
    PolicyBody,
    WorkspaceBody,
    WorkspacesReply,
)
from chancery.gateway.handlers.edge import Here, PathId

router = APIRouter(prefix="/v1", tags=["access"])


@router.get("/workspaces")
async def list_workspaces(here: Here) -> WorkspacesReply:
    """Return the workspaces of the caller, and their role in each."""
    identity = await here.query("release", "identity", queries.WhoAmI(), queries.Identity)
    held = [Membership(workspace_id=ws, role=role) for ws, role in identity.workspaces]
    return WorkspacesReply(workspaces=held)


@router.post("/workspaces", status_code=201)
async def create_workspace(body: WorkspaceBody, here: Here) -> commands.Outcome:
    """Create a workspace; its creator becomes its first admin."""
    command = commands.CreateWorkspace(workspace_id=body.workspace_id, title=body.title)
    return await here.command("ingestion", "create-workspace", command, commands.Outcome)


@router.delete("/workspaces/{ws}")
async def close_workspace(ws: PathId, here: Here) -> commands.Outcome:
    """Close a workspace for good."""
    command = commands.CloseWorkspace(workspace_id=ws)
    return await here.command("ingestion", "close-workspace", command, commands.Outcome)


@router.put("/workspaces/{ws}/members/{principal}")
async def add_member(
    ws: PathId, principal: PathId, body: MemberBody, here: Here
) -> commands.Outcome:
    """Give a principal a role in a workspace."""
    command = commands.AddMember(workspace_id=ws, principal=principal, role=body.role)
    return await here.command("ingestion", "add-member", command, commands.Outcome)


@router.delete("/workspaces/{ws}/members/{principal}")
async def remove_member(ws: PathId, principal: PathId, here: Here) -> commands.Outcome:
    """Take a principal out of a workspace."""
    command = commands.RemoveMember(workspace_id=ws, principal=principal)
    return await here.command("ingestion", "remove-member", command, commands.Outcome)


@router.put("/groups/{group}/members/{principal}")
async def join_group(group: PathId, principal: PathId, here: Here) -> commands.Outcome:
    """Put a principal into a group."""
    command = commands.JoinGroup(group=group, principal=principal)
    return await here.command("ingestion", "join-group", command, commands.Outcome)


@router.delete("/groups/{group}/members/{principal}")
async def leave_group(group: PathId, principal: PathId, here: Here) -> commands.Outcome:
    """Take a principal out of a group."""
    command = commands.LeaveGroup(group=group, principal=principal)
    return await here.command("ingestion", "leave-group", command, commands.Outcome)


@router.post("/credentials", status_code=201)
async def issue_credential(body: CredentialBody, here: Here) -> CredentialReply:
    """Issue a credential; a repeat under one Idempotency-Key returns the same token."""
    command = commands.IssueCredential(
        principal=body.principal, tenant=body.tenant, expires_at=body.expires_at
    )
    issued = await here.command(
        "ingestion", "issue-credential", command, commands.CredentialIssuedOutcome
    )
    secret = secret_for(here.edge.token_key, issued.credential_id)
    token = build_token(issued.tenant, issued.principal, issued.credential_id, secret)
    return CredentialReply(
        tenant=issued.tenant,
        principal=issued.principal,
        credential_id=issued.credential_id,
        token=token,
        expires_at=issued.expires_at,
    )


@router.delete("/credentials/{credential}")
async def revoke_credential(credential: PathId, here: Here) -> commands.Outcome:
    """End a credential."""
    question = queries.OfCredential(credential_id=credential)
    view = await here.query("release", "credential", question, queries.CredentialView)
    command = commands.RevokeCredential(principal=view.principal, credential_id=credential)
    return await here.command("ingestion", "revoke-credential", command, commands.Outcome)


@router.get("/workspaces/{ws}/policy")
async def read_policy(ws: PathId, here: Here) -> queries.PolicyView:
    """Return the answer policy of a workspace."""
    question = queries.OfWorkspace(workspace_id=ws)
    return await here.query("release", "policy", question, queries.PolicyView)


@router.put("/workspaces/{ws}/policy")
async def revise_policy(ws: PathId, body: PolicyBody, here: Here) -> commands.Outcome:
    """Set the answer policy of a workspace."""
    command = commands.RevisePolicy(
        workspace_id=ws,
        policy_revision=body.policy_revision,
        modes=body.modes,
        language=body.language,
    )
    return await here.command("ingestion", "revise-policy", command, commands.Outcome)
