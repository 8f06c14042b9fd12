"""A caller who hangs up while a statement runs is told of to who runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from fastapi import Request
from starlette.types import Message

from chancery.events.requests import Caller
from chancery.gateway.domain.calls import Call
from chancery.gateway.handlers.edge import Context, Edge
from chancery.gateway.handlers.leaving import answered
from chancery.kernel.errors import Rejected
from chancery.testkit.blobs import MemoryBlobs
from tests.unit.gateway.fakes import KEY, ListAnnouncements, NoNudges, TableOwners

CALL = Call(
    caller=Caller(tenant="acme", principal="ada", credential_id="c", proof="0" * 64),
    route="POST /query",
    idempotency_key="key-1",
    request_sha256="0" * 64,
    traceparent=None,
)


def request_of(receive: Callable[[], Awaitable[Message]]) -> Request:
    """Return a request whose body was read; `receive` tells what comes after it."""
    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


def context_of(nudges: NoNudges) -> Context:
    """Return the call at an edge with these nudges."""
    return Context(CALL, Edge(TableOwners(), ListAnnouncements(), nudges, MemoryBlobs(), KEY))


async def stay() -> Message:
    """Never hang up."""
    return await asyncio.get_running_loop().create_future()


@pytest.mark.req("KO-3")
async def test_a_caller_who_hangs_up_is_told_of_at_once() -> None:
    nudges, told = NoNudges(), asyncio.Event()

    async def leave() -> Message:
        told.set()
        return {"type": "http.disconnect"}

    async def run() -> str:
        await told.wait()
        await asyncio.get_running_loop().run_in_executor(None, str)
        return "late"

    async with asyncio.timeout(60):
        found = await answered(request_of(leave), context_of(nudges), run())

    assert found == "late"
    assert nudges.abandoned == [("ada", "key-1")]


async def test_nobody_is_told_of_a_caller_who_waits() -> None:
    nudges = NoNudges()

    async def run() -> str:
        await asyncio.get_running_loop().run_in_executor(None, str)
        return "answer"

    async with asyncio.timeout(60):
        found = await answered(request_of(stay), context_of(nudges), run())

    assert (found, nudges.abandoned) == ("answer", [])


async def test_a_refusal_comes_through_as_it_is() -> None:
    async def run() -> str:
        message = "no"
        raise Rejected(message, code="sql_syntax")

    with pytest.raises(Rejected) as refused:
        await answered(request_of(stay), context_of(NoNudges()), run())

    assert refused.value.code == "sql_syntax"
