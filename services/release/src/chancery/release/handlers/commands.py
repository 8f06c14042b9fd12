"""The commands that release owns: opening a conversation, posting a message."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chancery.authority.names import policy_ref, workspace_ref
from chancery.authority.policies import effective_policy
from chancery.events.commands import (
    ConversationCreated,
    CreateConversation,
    MessagePosted,
    PostMessage,
)
from chancery.events.requests import Request
from chancery.kernel.errors import NotFound
from chancery.kernel.ids import derived_id
from chancery.release.domain.conversations import Conversation, Posting
from chancery.release.errors import PolicyNotCurrent
from chancery.release.handlers.gate import Gate, Visitor, not_found, policy_in, require_member
from chancery.release.ports.stores import ConversationStore


@dataclass(frozen=True, slots=True)
class Commands:
    """Each authenticates the caller behind the barrier; a repeat returns the first outcome."""

    gate: Gate
    conversations: ConversationStore

    async def create_conversation(
        self, request: Request[CreateConversation]
    ) -> ConversationCreated:
        """Open a conversation of the caller in a workspace of theirs."""
        caller, workspace_id = request.caller, request.body.workspace_id
        visitor = await self.gate.enter(caller, (workspace_ref(workspace_id),))
        require_member(visitor, workspace_id)
        conversation_id = derived_id(
            "conversation", caller.tenant, caller.principal, request.route, request.idempotency_key
        )
        await self.conversations.create(
            caller.tenant,
            conversation_id,
            workspace_id,
            caller.principal,
            sha256=request.request_sha256,
        )
        return ConversationCreated(conversation_id=conversation_id)

    async def post_message(self, request: Request[PostMessage]) -> MessagePosted:
        """Record a question of the caller with its selections, bounds and credential."""
        caller, body = request.caller, request.body
        passed, conversation = await asyncio.gather(
            self.gate.barrier.pass_through(),
            self.conversations.read(caller.tenant, body.conversation_id),
        )
        workspace_id = "" if conversation is None else conversation.workspace_id
        refs = (
            () if conversation is None else (workspace_ref(workspace_id), policy_ref(workspace_id))
        )
        visitor = await self.gate.enter(caller, refs, passed=passed)
        if conversation is None or conversation.principal != caller.principal:
            raise not_found("conversation")
        _require_open(visitor, conversation)
        check_policy(visitor, workspace_id, body)
        message = await self.conversations.post(
            Posting(
                conversation=conversation,
                credential_id=caller.credential_id,
                request_sha256=request.request_sha256,
                traceparent=request.traceparent,
                body=body,
                now=visitor.snapshot.now,
            )
        )
        return MessagePosted(
            run_id=body.run_id,
            message_id=message.message_id,
            message=message.number,
            workspace_id=workspace_id,
            requested_at=message.requested_at,
        )


def _require_open(visitor: Visitor, conversation: Conversation) -> None:
    try:
        require_member(visitor, conversation.workspace_id)
    except NotFound as error:
        raise not_found("conversation") from error


def check_policy(visitor: Visitor, workspace_id: str, body: PostMessage) -> None:
    """Refuse a policy revision or mode that does not hold; RLM has its own explanation later.

    Raises:
        PolicyNotCurrent: naming the field.
    """
    policy = effective_policy(policy_in(visitor.snapshot, workspace_id))
    wanted = body.bounds.policy_revision
    if wanted is not None and wanted != policy.policy_revision:
        message = "bounds.policy_revision is not the workspace's current one; read the policy again"
        raise PolicyNotCurrent(message, field="bounds.policy_revision")
    if body.mode != "rlm" and body.mode not in policy.modes:
        message = "mode is not among the modes of the workspace's policy"
        raise PolicyNotCurrent(message, field="mode", code="mode_not_allowed")
