"""A service is ready, and answers, only when the server knows all of its subscriptions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from faststream.nats import NatsBroker

from chancery.bus.connection import Connection
from chancery.bus.request import ask
from chancery.events.queries import OfRun
from chancery.events.requests import Caller, Message, Request
from chancery.events.topology import query_subject
from chancery.kernel.errors import Unavailable
from chancery.runtime.responder import Responder
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.runtime.parts import is_ready, ready, running
from tests.integration.runtime.wire import Wire, wired

pytestmark = pytest.mark.integration

FIRST = query_subject("release", "identity")
SECOND = query_subject("release", "run")


class Nothing(Message):
    """An answer with nothing in it."""


async def answer(asked: Request[OfRun]) -> Nothing:
    del asked
    return Nothing()


def register(service: Service) -> None:
    service.responder(FIRST, OfRun, answer)
    service.responder(SECOND, OfRun, answer)


@asynccontextmanager
async def held_at_the_second(nats_url: str) -> AsyncGenerator[tuple[Service, Wire]]:
    """Run a service whose second subscription has been sent and has not arrived."""
    async with (
        wired(nats_url, f"SUB {SECOND}".encode()) as (url, wire),
        running(ServiceSettings(nats_url=url, stop_s=5), register) as service,
    ):
        await asyncio.wait_for(wire.held.wait(), WITHIN_S)
        yield service, wire
        wire.free.set()


async def test_a_service_is_not_ready_before_the_server_knows_every_subscription(
    connection: Connection, nats_url: str
) -> None:
    async with held_at_the_second(nats_url) as (service, wire):
        while_held = [await ready(service) for _ in range(5)]
        with pytest.raises(Unavailable) as nobody:
            await connection.request(SECOND, b"", timeout_s=WITHIN_S)
        wire.free.set()
        await eventually(lambda: is_ready(service))
        reply = await connection.request(SECOND, b"", timeout_s=WITHIN_S)

    reasons = {"nats": None, "requests": "requests are not taken yet"}
    assert while_held == [(False, reasons)] * 5
    assert nobody.value.code == "no_responders"
    assert b"invalid_request" in reply.data


async def test_a_subject_that_is_known_answers_no_earlier_than_the_last_one(
    connection: Connection, settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, reached, go_on = Responder[Any, Any].start, asyncio.Event(), asyncio.Event()

    async def start_later(responder: Responder[Any, Any], broker: NatsBroker) -> None:
        if responder.subject == SECOND:
            reached.set()
            await go_on.wait()
        await start(responder, broker)

    monkeypatch.setattr(Responder, "start", start_later)
    async with running(settings, register):
        await asyncio.wait_for(reached.wait(), WITHIN_S)
        late = await eventually(lambda: how_it_fails(connection))
        go_on.set()
        replies = [
            await connection.request(each, b"", timeout_s=WITHIN_S) for each in (FIRST, SECOND)
        ]

    assert late == "bus_timeout"
    assert [b"invalid_request" in reply.data for reply in replies] == [True, True]


async def test_a_service_that_stops_is_ready_no_longer(
    connection: Connection, settings: ServiceSettings
) -> None:
    began, leave = asyncio.Event(), asyncio.Event()

    async def linger(asked: Request[OfRun]) -> Nothing:
        began.set()
        await leave.wait()
        return await answer(asked)

    def register_lingering(service: Service) -> None:
        service.responder(FIRST, OfRun, linger)

    async with running(settings, register_lingering) as service, asyncio.TaskGroup() as group:
        await eventually(lambda: is_ready(service))
        lingering = group.create_task(ask(connection, FIRST, question(), Nothing))
        await began.wait()
        service.stop()
        await eventually(lambda: is_closed(service))
        leave.set()
        answered = await lingering

    assert answered == Nothing()


async def test_a_service_with_a_login_of_its_own_opens(
    connection: Connection, own_login: ServiceSettings
) -> None:
    del connection
    async with running(own_login, register) as service:
        assert await eventually(lambda: is_ready(service))


async def how_it_fails(connection: Connection) -> str | None:
    """Return why nobody answers FIRST, once the server knows of whom it reaches."""
    with pytest.raises(Unavailable) as caught:
        await connection.request(FIRST, b"", timeout_s=0.5)
    return None if caught.value.code == "no_responders" else caught.value.code


async def is_closed(service: Service) -> bool:
    return (await ready(service))[1]["requests"] == "requests are taken no longer"


def question() -> Request[OfRun]:
    return Request[OfRun](
        caller=Caller(tenant="t1", principal="ada", credential_id="c1", proof="0" * 64),
        route="GET /v1/runs/{run}",
        idempotency_key="k1",
        request_sha256="0" * 64,
        body=OfRun(run_id="r1"),
    )
