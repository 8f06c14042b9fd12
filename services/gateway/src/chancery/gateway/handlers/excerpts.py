"""`rag` and `rlm`: a question and its excerpts in one call, over the same runs as all others."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from chancery.events import commands, queries
from chancery.events.authority import Mode
from chancery.gateway.domain.excerpts import ExcerptBody, ExcerptReply, OpenReply, excerpt_reply
from chancery.gateway.handlers.asking import start_run
from chancery.gateway.handlers.edge import SUPERSEDED_HEADER, Context, Here, PathId

router = APIRouter(prefix="/v1/workspaces/{ws}", tags=["ask"])

WAIT_S = 30.0
"""How long one call waits for its run at most; the run may have longer than that."""

POLL_S = 1.0

_OPEN: dict[int | str, dict[str, object]] = {
    202: {"model": OpenReply, "description": "the run has not ended yet"}
}


@router.post("/rag", response_model=ExcerptReply, responses=_OPEN)
async def answer_from_documents(ws: PathId, body: ExcerptBody, here: Here) -> Response:
    """Answer with exact excerpts of documents, or with none; 202 while the run is still open."""
    return await _answer(here, ws, body, "rag")


@router.post("/rlm", response_model=ExcerptReply, responses=_OPEN)
async def answer_by_reading(ws: PathId, body: ExcerptBody, here: Here) -> Response:
    """Answer by reading with a program, when this server can, else with no answer and why."""
    return await _answer(here, ws, body, "rlm")


async def _answer(here: Context, workspace_id: str, body: ExcerptBody, mode: Mode) -> Response:
    command = commands.CreateConversation(workspace_id=workspace_id)
    opened = await here.command(
        "release", "create-conversation", command, commands.ConversationCreated
    )
    posted = await start_run(here, opened.conversation_id, body.message(mode))
    wait_s = min(WAIT_S, body.bounds.max_duration_s + POLL_S)
    document = await _ended(here, posted.run_id, wait_s=wait_s)
    if document.status == "open":
        place = {"Location": f"/v1/runs/{posted.run_id}"}
        return JSONResponse({"run_id": posted.run_id}, status_code=202, headers=place)
    headers = {SUPERSEDED_HEADER: "true"} if document.superseded else {}
    told = excerpt_reply(document).model_dump(mode="json")
    return JSONResponse(told, headers=headers)


async def _ended(here: Context, run_id: str, *, wait_s: float) -> queries.Document:
    """Return the answer's document, authorised when it is read; it is open when time ran out."""
    until = time.monotonic() + wait_s
    question = queries.OfRun(run_id=run_id)
    async with here.edge.nudges.of_run(here.call.caller.tenant, run_id) as nudge:
        while True:
            document = await here.query("release", "answer", question, queries.Document)
            left_s = until - time.monotonic()
            if document.status != "open" or left_s <= 0:
                return document
            await nudge.wait(min(POLL_S, left_s))
