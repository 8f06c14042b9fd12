"""Room for bodies: given back as soon as a body is served, and never all of it to one tenant."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from starlette.types import Message, Receive, Scope, Send

from chancery.events.requests import Caller
from chancery.gateway.domain.body_limits import UNREAD_BYTES_MAX
from chancery.gateway.domain.calls import Call
from chancery.gateway.errors import BodiesFull
from chancery.gateway.handlers.arriving import USUAL_PACE
from chancery.gateway.handlers.intake import UNPROVEN_BYTES, Intake
from chancery.gateway.handlers.room import Room
from chancery.gateway.handlers.watching import create_watch
from chancery.testkit.waiting import eventually
from tests.unit.gateway.fakes import TOKEN

BODY = b'"' + b" " * 4 * UNPROVEN_BYTES + b'"'


def caller(tenant: str, principal: str) -> Caller:
    return Caller(tenant=tenant, principal=principal, credential_id="c", proof="0" * 64)


class Stream:
    """An application that begins a response when it may, and does not end it."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.begins = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await receive()
        self.asked.set()
        await self.begins.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()


async def request(app: Stream, room: Room, method: str, sent: list[Message]) -> None:
    pieces = [BODY[: len(BODY) // 2], BODY[len(BODY) // 2 :]]

    async def receive() -> Message:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    async def prove(shown: Call) -> None:
        assert shown.caller.principal == "ada"

    intake = Intake(
        app, 2 * len(BODY), create_watch((), CollectorRegistry()), prove, room, USUAL_PACE
    )
    headers = [
        (b"authorization", f"Bearer {TOKEN}".encode()),
        (b"content-type", b"application/json"),
    ]
    scope: Scope = {"type": "http", "method": method, "path": "/v1/runs/r/x", "headers": headers}
    await intake(scope, receive, send)


async def test_a_response_that_has_begun_holds_no_room_of_its_request() -> None:
    app, room, sent = Stream(), Room(), list[Message]()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(request(app, room, "POST", sent))
        await app.asked.wait()
        # While it is worked at, its bytes count, and it arrives no more.
        assert (room.whole_now > 0, room.arriving_now) == (True, 0)
        app.begins.set()
        await eventually(lambda: bool(sent))
        assert room.held == 0
        asked.cancel()


async def test_a_body_that_nothing_reads_is_refused() -> None:
    assert len(BODY) > UNREAD_BYTES_MAX
    app, room, sent = Stream(), Room(), list[Message]()

    await request(app, room, "GET", sent)

    assert (sent[0]["status"], app.asked.is_set(), room.held) == (413, False, 0)


async def test_the_callers_of_one_tenant_leave_places_to_another() -> None:
    room = Room(arriving_max=4, of_one_max=1, of_tenant_max=2, wait_s=0.01)

    async with room.arriving(caller("acme", "ada")), room.arriving(caller("acme", "bob")):
        with pytest.raises(BodiesFull):
            async with room.arriving(caller("acme", "eve")):
                pytest.fail("the tenant has its share")
        async with room.arriving(caller("birch", "ada")):
            assert room.arriving_now == 3

    assert room.held == 0
