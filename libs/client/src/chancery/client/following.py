"""Following a run to its end: its events, resumed where they broke off, or else by asking again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from http import HTTPStatus

from chancery.client.errors import ProblemError, StillOpen, Unreachable
from chancery.client.handles import AnswerHandle
from chancery.client.streaming import Frame, RunEvent, frames, run_event
from chancery.client.transport import Transport

Heard = Callable[[RunEvent], None]

BREAKS_MAX = 8
"""How often in a row a stream may break without a new event before the run is polled."""

ERROR = "error"
"""The event with which the server ends a stream early; asking again says what is the matter."""

_BREAK_PAUSE_S = 0.25
_POLL_S = 0.25


async def follow(
    transport: Transport, run_id: str, after: str | None = None
) -> AsyncGenerator[RunEvent]:
    """Yield what happens to a run until it ends; a broken stream goes on where it broke.

    Raises:
        ProblemError: when the run may not be read (any more).
        Unreachable: when the stream keeps breaking without a new event.
    """
    breaks = 0
    ended = False
    while not ended:
        if breaks == BREAKS_MAX:
            message = f"the events of run {run_id} keep breaking off"
            raise Unreachable(message)
        await asyncio.sleep(_BREAK_PAUSE_S * breaks)
        breaks += 1
        async with aclosing(_until_break(transport, run_id, after)) as told:
            async for event in told:
                breaks, after, ended = 0, event.id or after, event.kind == "end"
                yield event


async def await_end(
    transport: Transport, run_id: str, *, within_s: float, heard: Heard
) -> AnswerHandle:
    """Return the handle of the run's answer once it is there; `heard` is told of each event.

    Raises:
        StillOpen: when the run has not ended within `within_s`.
    """
    try:
        async with asyncio.timeout(within_s):
            told = await _told_end(transport, run_id, heard)
            return told or await _polled_end(transport, run_id)
    except TimeoutError as error:
        message = f"run {run_id} has not ended within {within_s:.0f} s"
        raise StillOpen(message) from error


async def _until_break(
    transport: Transport, run_id: str, after: str | None
) -> AsyncGenerator[RunEvent]:
    headers = {} if after is None else {"Last-Event-ID": after}
    try:
        async with transport.stream(f"/v1/runs/{run_id}/events", headers) as chunks:
            async for frame in _until_error(frames(chunks)):
                yield run_event(frame)
    except Unreachable:
        return
    except ProblemError as error:
        if error.status != HTTPStatus.SERVICE_UNAVAILABLE:
            raise


async def _until_error(told: AsyncIterator[Frame]) -> AsyncGenerator[Frame]:
    async for frame in told:
        if frame.event == ERROR:
            return
        yield frame


async def _told_end(transport: Transport, run_id: str, heard: Heard) -> AnswerHandle | None:
    try:
        async with aclosing(follow(transport, run_id)) as told:
            return await _first_handle(told, heard)
    except Unreachable:
        return None


async def _first_handle(told: AsyncGenerator[RunEvent], heard: Heard) -> AnswerHandle | None:
    async for event in told:
        heard(event)
        if event.handle is not None:
            return event.handle
    return None


async def _polled_end(transport: Transport, run_id: str) -> AnswerHandle:
    while True:
        received = await transport.call("GET", f"/v1/runs/{run_id}/answer")
        if received.status != HTTPStatus.ACCEPTED:
            return AnswerHandle(run_id)
        await asyncio.sleep(_POLL_S)
