"""Conversations and questions."""

from __future__ import annotations

from fastapi import APIRouter, Response

from chancery.events import commands, queries
from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunRequested
from chancery.events.topology import run_subject
from chancery.gateway.domain.bodies import MessageBody, PostedReply
from chancery.gateway.handlers.edge import Context, Here, PathId, disclosed
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import derived_id

router = APIRouter(prefix="/v1", tags=["ask"])


@router.post("/workspaces/{ws}/conversations", status_code=201)
async def create_conversation(ws: PathId, here: Here) -> commands.ConversationCreated:
    """Open a conversation of the caller."""
    command = commands.CreateConversation(workspace_id=ws)
    return await here.command(
        "release", "create-conversation", command, commands.ConversationCreated
    )


@router.get("/conversations/{conversation}")
async def read_conversation(conversation: PathId, here: Here) -> Response:
    """Return the caller's conversation and its runs."""
    question = queries.OfConversation(conversation_id=conversation)
    return disclosed(await here.query("release", "conversation", question, queries.Document))


@router.post("/conversations/{conversation}/messages", status_code=202)
async def post_message(
    conversation: PathId, body: MessageBody, response: Response, here: Here
) -> PostedReply:
    """Ask a question; the answer is prepared by the returned run."""
    run_id = here.call.created_id("run")
    tenant = here.call.caller.tenant
    question = body.question.encode()
    command = commands.PostMessage(
        conversation_id=conversation,
        run_id=run_id,
        question_sha256=sha256_hex(question),
        sources=body.sources,
        items=body.items,
        datasets=body.datasets,
        files=body.files,
        mode=body.mode,
        bounds=body.bounds,
    )
    # The owner answers first: nothing is stored for a caller that it refuses. A crash in between
    # leaves a message whose run never starts; a repeat of the request starts it, the deadline ends
    # it otherwise.
    posted = await here.command("release", "post-message", command, commands.MessagePosted)
    await here.edge.blobs.put_run(tenant, posted.run_id, question)
    await _announce(here, command, posted)
    response.headers["Location"] = f"/v1/runs/{posted.run_id}"
    return PostedReply(run_id=posted.run_id, message_id=posted.message_id)


async def _announce(
    here: Context, command: commands.PostMessage, posted: commands.MessagePosted
) -> None:
    caller = here.call.caller
    data = RunRequested(
        run_id=posted.run_id,
        workspace_id=posted.workspace_id,
        conversation_id=command.conversation_id,
        message=posted.message,
        credential_id=caller.credential_id,
        question_sha256=command.question_sha256,
        sources=command.sources,
        items=command.items,
        datasets=command.datasets,
        files=command.files,
        mode=command.mode,
        bounds=command.bounds,
    )
    envelope = Envelope(
        id=derived_id("requested", caller.tenant, posted.run_id),
        source="/chancery/gateway",
        type=data.TYPE,
        subject=posted.run_id,
        time=posted.requested_at,
        tenant=caller.tenant,
        actor=caller.principal,
        correlationid=posted.run_id,
        traceparent=here.call.traceparent,
        requestsha256=here.call.request_sha256,
    )
    subject = run_subject(caller.tenant, posted.run_id, "requested")
    await here.edge.announcements.announce(subject, Event(envelope=envelope, data=data))
