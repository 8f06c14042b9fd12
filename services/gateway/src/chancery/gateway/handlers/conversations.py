"""Conversations and questions."""

from __future__ import annotations

from fastapi import APIRouter, Response

from chancery.events import commands, queries
from chancery.gateway.domain.bodies import MessageBody, PostedReply
from chancery.gateway.handlers.asking import start_run
from chancery.gateway.handlers.edge import Here, PathId, disclosed

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
    posted = await start_run(here, conversation, body)
    response.headers["Location"] = f"/v1/runs/{posted.run_id}"
    return PostedReply(run_id=posted.run_id, message_id=posted.message_id)
