"""Runs: their state, their events, their sealed answer, and what proves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import AsyncExitStack, aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from chancery.events import commands, queries
from chancery.events.corpora import RunBegun
from chancery.gateway.domain.bodies import RetriedReply
from chancery.gateway.domain.frames import HEARTBEAT, error_frame, frame, resume_after
from chancery.gateway.errors import Internal
from chancery.gateway.handlers.asking import announce_cancel, announce_request
from chancery.gateway.handlers.edge import Context, Here, PathId, disclosed
from chancery.gateway.ports import Nudge
from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import ChanceryError, Corrupt, Unavailable
from chancery.runtime.logging import describe, get_logger

router = APIRouter(prefix="/v1/runs", tags=["ask"])

_log = get_logger("chancery.gateway")

POLL_S = 1.0
HEARTBEAT_POLLS = 15


@router.get("/{run}")
async def read_run(run: PathId, here: Here) -> Response:
    """Return the state of a run."""
    return disclosed(await _document(here, "run", run))


@router.get("/{run}/answer")
async def read_answer(run: PathId, here: Here) -> Response:
    """Return the sealed answer, the refusal or the withheld notice; 202 while the run is open."""
    return disclosed(await _document(here, "answer", run), open_status=202)


@router.get("/{run}/audit")
async def read_audit(run: PathId, here: Here) -> Response:
    """Return what was recorded of a run, each record on its own."""
    return disclosed(await _document(here, "audit", run), open_status=202)


@router.get("/{run}/bundle")
async def read_bundle(run: PathId, here: Here) -> Response:
    """Return everything that verifies the answer offline, in one JSON document."""
    return disclosed(await _document(here, "bundle", run), open_status=202)


@router.post("/{run}/cancel", status_code=202)
async def cancel_run(run: PathId, here: Here) -> dict[str, str]:
    """Give a run up; stages that are still at work become void."""
    document = await _document(here, "run", run)
    await announce_cancel(here, run, _generation_of(document))
    return {"run_id": run}


@router.post("/{run}/retry", status_code=202)
async def retry_run(run: PathId, here: Here) -> RetriedReply:
    """Answer the question once more; earlier receipts stay, the newest generation is shown."""
    command = commands.RetryRun(run_id=run)
    retried = await here.command("release", "retry-run", command, commands.RunRetried)
    begun = RunBegun(
        **retried.model_dump(exclude={"asked"}),
        request_sha256=here.call.request_sha256,
        is_open=True,
        asked=retried.asked,
    )
    await announce_request(here, begun)
    return RetriedReply(run_id=run, generation=retried.generation)


@router.get("/{run}/events", response_class=StreamingResponse)
async def stream_events(
    run: PathId,
    here: Here,
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> StreamingResponse:
    """Stream the run's events; each is authorised when it is sent, on a resume as well."""
    after = resume_after(last_event_id, run)
    async with AsyncExitStack() as stack:
        # Nudged from before the first read on, nothing is missed between the two.
        nudges = here.edge.nudges.of_run(here.call.caller.tenant, run)
        nudge = await stack.enter_async_context(nudges)
        # The first read happens before the stream opens: a refusal is a status, not an event.
        first = await _rows(here, run, after)
        frames = _whole(run, _frames(here, run, first, after=after, nudge=nudge))
        return _Stream(frames, stack.pop_all())


class _Stream(StreamingResponse):
    """Server-sent events; what they rest on is closed however the sending ends."""

    def __init__(self, frames: AsyncIterator[bytes], behind: AsyncExitStack) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(frames, media_type="text/event-stream", headers=headers)
        self._behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._behind:
            await super().__call__(scope, receive, send)


def _generation_of(document: queries.Document) -> int:
    """Return the generation that a document is about: only that one is cancelled."""
    parsed = parse_json(document.json_text)
    generation = parsed.get("generation") if isinstance(parsed, dict) else None
    if not isinstance(generation, int):
        message = "the state of the run names no generation"
        raise Corrupt(message, code="unreadable_reply")
    return generation


async def _document(here: Context, noun: str, run_id: str) -> queries.Document:
    return await here.query("release", noun, queries.OfRun(run_id=run_id), queries.Document)


async def _rows(here: Context, run_id: str, after: int) -> queries.EventRows:
    question = queries.EventsAfter(run_id=run_id, after=after)
    return await here.query("release", "events", question, queries.EventRows)


async def _whole(run_id: str, frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the frames; an error of an open stream is told by its code alone."""
    try:
        async with aclosing(frames) as told:
            async for each in told:
                yield each
    except ChanceryError as error:
        yield error_frame(run_id, error.code)
    except Exception as error:  # noqa: BLE001 - its words must not reach the caller
        _log.error("a stream of events broke off", run_id=run_id, **describe(error))
        yield error_frame(run_id, Internal.code)


async def _frames(
    here: Context, run_id: str, rows: queries.EventRows, *, after: int, nudge: Nudge
) -> AsyncGenerator[bytes]:
    quiet = 0
    while True:
        for row in rows.rows:
            yield frame(run_id, row)
            after, quiet = row.number, 0
        if rows.ended:
            return
        rows = await _next_rows(here, run_id, after, nudge.wait(POLL_S))
        quiet += not rows.rows
        if quiet and quiet % HEARTBEAT_POLLS == 0:
            yield HEARTBEAT


async def _next_rows(
    here: Context, run_id: str, after: int, nudged: Awaitable[None]
) -> queries.EventRows:
    """Return what came after `after`; an owner that is away for a moment is asked again."""
    await nudged
    try:
        return await _rows(here, run_id, after)
    except Unavailable:
        await asyncio.sleep(POLL_S)
        return queries.EventRows(rows=(), ended=False)
