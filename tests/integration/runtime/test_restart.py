"""The bus dies and comes back: workers, readers and responders go on without being restarted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from chancery.bus import provision
from chancery.bus.connection import Connection, connect
from chancery.bus.publish import publish_message
from chancery.bus.reader import PullReader
from chancery.bus.request import ask
from chancery.embedded import nats as embedded_nats
from chancery.embedded.process import start
from chancery.events.envelope import Event
from chancery.events.queries import OfRun
from chancery.events.topology import RELEASE_AUTHORITY, consumer
from chancery.runtime.delivery import Delivery
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.ports import kept_port
from chancery.testkit.waiting import eventually
from tests.integration.bus.messages import outgoing
from tests.integration.runtime.parts import (
    CANCELLED,
    MemoryParking,
    cancelled,
    is_ready,
    is_settled,
    running,
    send,
)
from tests.integration.runtime.test_responder import SUBJECT, Answer, echo, request

pytestmark = [pytest.mark.integration, pytest.mark.chaos]


class Server:
    """A NATS of this test alone, to kill and start again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        # Nobody else gets its ports while it is down.
        ports = {"port": kept_port(), "http_port": kept_port()}
        self.prepared = embedded_nats.prepare(folder, run=folder, logs=folder, **ports)
        self.process = start(self.prepared.spec)

    async def up(self) -> str:
        await eventually(lambda: asyncio.to_thread(self.prepared.is_ready))
        return self.prepared.url

    async def restart(self) -> None:
        await asyncio.to_thread(self.process.stop)
        self.process = start(self.prepared.spec)
        await self.up()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Server]:
    found = Server(tmp_path)
    try:
        await found.up()
        yield found
    finally:
        await asyncio.to_thread(found.process.stop)


async def test_a_service_goes_on_after_a_restart_of_the_bus(server: Server) -> None:
    url = server.prepared.url
    seen: list[str] = []
    read: list[int] = []

    async def handle(event: Event, delivery: Delivery) -> None:
        del delivery
        seen.append(event.envelope.subject)

    def register(service: Service) -> None:
        async def follow() -> None:
            reader = PullReader(connection, consumer(RELEASE_AUTHORITY), idle_s=0.2)
            async for batch in reader.read(read[-1] if read else 0):
                read.extend(item.sequence for item in batch)

        service.worker(CANCELLED, handle, parking=MemoryParking(), workers=2)
        service.responder(SUBJECT, OfRun, echo)
        service.background("projection", follow)

    async with connect(url, name="tests") as connection:
        await provision.apply(connection, provision.Plan(ack_wait_s=2))
        async with running(ServiceSettings(nats_url=url, stop_s=5), register) as service:
            await _play(connection, "before")
            await eventually(lambda: seen == ["before"] and read == [1])
            # An acknowledgement on its way would be lost with the server, and handling repeated.
            await eventually(lambda: is_settled(connection))
            await server.restart()
            await eventually(lambda: connection.is_connected)
            await _play(connection, "after")
            await eventually(lambda: seen == ["before", "after"] and read == [1, 2])
            answer = await ask(connection, SUBJECT, request("r1"), Answer)
            await eventually(lambda: is_ready(service))

    assert answer.run_id == "r1"


async def _play(connection: Connection, run_id: str) -> None:
    await send(connection, cancelled(run_id))
    await publish_message(connection, outgoing("cut.t1"))


async def test_a_service_without_bus_is_unready(server: Server) -> None:
    url = server.prepared.url
    async with connect(url, name="tests") as connection:
        await provision.apply(connection)

    async with running(ServiceSettings(nats_url=url, stop_s=1), lambda _: None) as service:
        assert await is_ready(service)
        await asyncio.to_thread(server.process.stop)

        async def is_red() -> bool:
            return not await is_ready(service)

        await eventually(is_red)
