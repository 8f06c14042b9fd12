"""Owners over the bus: one that dies at work is asked once more, one that refuses is believed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import pytest

from chancery.bus.connection import Connection, connect
from chancery.events.queries import Identity, WhoAmI
from chancery.events.requests import Caller, Failure, Reply, Request
from chancery.gateway import adapters
from chancery.gateway.adapters import BusOwners
from chancery.kernel.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg

SUBJECT = "query.release.identity.v1"
IDENTITY = Identity(tenant="t", principal="ada", tenant_admin=False, workspaces=())
REQUEST = Request[WhoAmI](
    caller=Caller(tenant="t", principal="ada", credential_id="c", proof="a" * 64),
    route="GET /v1/x",
    idempotency_key="k",
    request_sha256="b" * 64,
    body=WhoAmI(),
)


@pytest.fixture
async def bus(nats_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Connection]:
    monkeypatch.setattr(adapters, "ASK_TIMEOUT_S", 1.0)
    async with connect(nats_url, name="test") as connection:
        yield connection


async def answer(bus: Connection, replies: list[Reply[Identity] | None]) -> list[bytes]:
    """Answer requests with `replies` in order; None takes a request and dies."""
    heard: list[bytes] = []

    async def receive(message: Msg) -> None:
        reply = replies[len(heard)]
        heard.append(message.data)
        if reply is not None:
            await message.respond(reply.model_dump_json().encode())

    await bus.subscribe(SUBJECT, receive)
    return heard


@pytest.mark.req("EV-6")
async def test_an_owner_that_dies_at_work_is_asked_once_more(bus: Connection) -> None:
    heard = await answer(bus, [None, Reply[Identity](body=IDENTITY)])

    told = await BusOwners(bus).ask(SUBJECT, REQUEST, Identity)

    assert told == IDENTITY
    assert len(heard) == 2
    assert heard[0] == heard[1]


async def test_an_owner_that_stays_away_is_unavailable(bus: Connection) -> None:
    heard = await answer(bus, [None, None])

    with pytest.raises(Unavailable):
        await BusOwners(bus).ask(SUBJECT, REQUEST, Identity)

    assert len(heard) == 2


async def test_a_refusal_is_final(bus: Connection) -> None:
    failure = Failure(kind="not_found", code="not_found", detail="there is no such thing")
    heard = await answer(bus, [Reply[Identity](failure=failure)])

    with pytest.raises(NotFound):
        await BusOwners(bus).ask(SUBJECT, REQUEST, Identity)

    assert len(heard) == 1
