"""Commands on workspaces, members, groups, credentials and policies."""

from __future__ import annotations

from chancery.authority.credentials import (
    NewCredential,
    decide_issue_credential,
    decide_join_group,
    decide_leave_group,
    decide_revoke_credential,
)
from chancery.authority.names import (
    AggregateRef,
    Change,
    policy_ref,
    principal_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.authority.workspaces import (
    decide_add_member,
    decide_close_workspace,
    decide_create_workspace,
    decide_remove_member,
    decide_revise_policy,
)
from chancery.events.commands import (
    AddMember,
    CloseWorkspace,
    CreateWorkspace,
    IssueCredential,
    JoinGroup,
    LeaveGroup,
    RemoveMember,
    RevisePolicy,
    RevokeCredential,
)
from chancery.events.topology import command_subject
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent, held_proof
from chancery.ingestion.domain.outcomes import report_credential, report_outcome
from chancery.ingestion.domain.views import View


def _create(view: View, intent: Intent[CreateWorkspace]) -> tuple[Change, ...]:
    body = intent.body
    return decide_create_workspace(view.actor, view.workspace(body.workspace_id), body)


def _close(view: View, intent: Intent[CloseWorkspace]) -> tuple[Change, ...]:
    body = intent.body
    return decide_close_workspace(view.actor, view.workspace(body.workspace_id), body)


def _add_member(view: View, intent: Intent[AddMember]) -> tuple[Change, ...]:
    body = intent.body
    workspace, principal = view.workspace(body.workspace_id), view.principal(body.principal)
    return decide_add_member(view.actor, workspace, principal, body)


def _remove_member(view: View, intent: Intent[RemoveMember]) -> tuple[Change, ...]:
    body = intent.body
    workspace, principal = view.workspace(body.workspace_id), view.principal(body.principal)
    return decide_remove_member(view.actor, workspace, principal, body)


def _revise(view: View, intent: Intent[RevisePolicy]) -> tuple[Change, ...]:
    body = intent.body
    workspace, policy = view.workspace(body.workspace_id), view.policy(body.workspace_id)
    return decide_revise_policy(view.actor, workspace, policy, body)


def _issue(view: View, intent: Intent[IssueCredential]) -> tuple[Change, ...]:
    tenant = _issue_tenant(intent)
    credential_id = intent.key.credential_id(tenant, intent.body.principal)
    new = NewCredential(credential_id, held_proof(intent.token_key, credential_id), intent.now)
    return decide_issue_credential(view.actor, view.tenant(tenant), intent.body, new)


def _issue_tenant(intent: Intent[IssueCredential]) -> str:
    return intent.body.tenant or intent.tenant


def _issue_reads(intent: Intent[IssueCredential]) -> tuple[AggregateRef, ...]:
    return (principal_ref(intent.body.principal), tenant_ref(_issue_tenant(intent)))


def _member_reads(intent: Intent[AddMember] | Intent[RemoveMember]) -> tuple[AggregateRef, ...]:
    body = intent.body
    return (principal_ref(body.principal), workspace_ref(body.workspace_id))


CREATE_WORKSPACE = Command(
    subject=command_subject("ingestion", "create-workspace"),
    body=CreateWorkspace,
    reads=lambda intent: (
        workspace_ref(intent.body.workspace_id),
        principal_ref(intent.key.principal),
    ),
    decide=_create,
    report=report_outcome,
)
CLOSE_WORKSPACE = Command(
    subject=command_subject("ingestion", "close-workspace"),
    body=CloseWorkspace,
    reads=lambda intent: (workspace_ref(intent.body.workspace_id),),
    decide=_close,
    report=report_outcome,
)
ADD_MEMBER = Command(
    subject=command_subject("ingestion", "add-member"),
    body=AddMember,
    reads=_member_reads,
    decide=_add_member,
    report=report_outcome,
)
REMOVE_MEMBER = Command(
    subject=command_subject("ingestion", "remove-member"),
    body=RemoveMember,
    reads=_member_reads,
    decide=_remove_member,
    report=report_outcome,
)
JOIN_GROUP = Command(
    subject=command_subject("ingestion", "join-group"),
    body=JoinGroup,
    reads=lambda intent: (principal_ref(intent.body.principal),),
    decide=lambda view, intent: decide_join_group(
        view.actor, view.principal(intent.body.principal), intent.body
    ),
    report=report_outcome,
)
LEAVE_GROUP = Command(
    subject=command_subject("ingestion", "leave-group"),
    body=LeaveGroup,
    reads=lambda intent: (principal_ref(intent.body.principal),),
    decide=lambda view, intent: decide_leave_group(
        view.actor, view.principal(intent.body.principal), intent.body
    ),
    report=report_outcome,
)
ISSUE_CREDENTIAL = Command(
    subject=command_subject("ingestion", "issue-credential"),
    body=IssueCredential,
    tenant=_issue_tenant,
    reads=_issue_reads,
    decide=_issue,
    report=report_credential,
)
REVOKE_CREDENTIAL = Command(
    subject=command_subject("ingestion", "revoke-credential"),
    body=RevokeCredential,
    reads=lambda intent: (principal_ref(intent.body.principal),),
    decide=lambda view, intent: decide_revoke_credential(
        view.actor, view.principal(intent.body.principal), intent.body
    ),
    report=report_outcome,
)
REVISE_POLICY = Command(
    subject=command_subject("ingestion", "revise-policy"),
    body=RevisePolicy,
    reads=lambda intent: (
        policy_ref(intent.body.workspace_id),
        workspace_ref(intent.body.workspace_id),
    ),
    decide=_revise,
    report=report_outcome,
)
