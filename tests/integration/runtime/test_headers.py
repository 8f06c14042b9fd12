"""What came in the headers of a parked message stays with it: there an event may say who it is."""

from __future__ import annotations

import json

import pytest

from chancery.bus.connection import Connection
from chancery.bus.load import message_at
from chancery.events.topology import RUNS
from chancery.kernel.errors import Rejected
from chancery.runtime.delivery import Delivery, Received
from chancery.runtime.parking import PostgresParking
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.runtime.parts import CANCELLED, MemoryParking, running
from tests.integration.runtime.test_parked import attended, retry

pytestmark = [pytest.mark.integration, pytest.mark.req("EV-7")]

SUBJECT = "run.t1.r1.cancelled"
FORGED = b'{"id":"forged"}'
ATTRIBUTES = {"ce-specversion": "1.0", "ce-id": "e%31", "Ce-Tenant": "t1"}
KEPT = {"ce-specversion": "1.0", "ce-id": "e%31", "ce-tenant": "t1"}


async def send(bus: Connection, headers: dict[str, str]) -> int:
    reply = await bus.client.request(SUBJECT, FORGED, headers=headers, timeout=20)
    return json.loads(reply.data)["seq"]


async def test_a_message_is_parked_and_read_with_its_attributes_and_no_other_header(
    connection: Connection, own_login: ServiceSettings
) -> None:
    parking = MemoryParking()

    async def refuse(received: Received, delivery: Delivery) -> None:
        del received, delivery
        raise Rejected("no", code="not_ours")

    def register(service: Service) -> None:
        service.receiver(CANCELLED, refuse, parking=parking, workers=1, deliveries_max=2)

    async with running(own_login, register):
        sequence = await send(connection, {**ATTRIBUTES, "ce-other": "y", "Other": "z"})
        await eventually(lambda: len(parking.parked) == 1)

    stored = await message_at(connection, RUNS, sequence)
    assert stored is not None
    for found in (stored, parking.parked[0].stored):
        assert (found.sequence, found.payload, found.headers) == (sequence, FORGED, KEPT)


async def test_a_retry_hands_the_attributes_over_again(
    connection: Connection, own_login: ServiceSettings, database: Database
) -> None:
    seen: list[Received] = []

    async def receive(received: Received, delivery: Delivery) -> None:
        del delivery
        seen.append(received)
        if len(seen) == 1:
            raise Rejected("no", code="not_ours")

    async with await open_pool(database.dsn("release"), name="tests") as pool:

        def register(service: Service) -> None:
            parking = PostgresParking(pool, "release")
            service.receiver(CANCELLED, receive, parking=parking, workers=1, deliveries_max=2)

        async with attended(connection, own_login, register):
            sequence = await send(connection, {**ATTRIBUTES, "Nats-Msg-Id": "m1"})
            await eventually(lambda: pool.fetchval("SELECT count(*) = 1 FROM release.parked"))
            outcome = await retry(connection, sequence)

    assert outcome.outcome == "handled"
    assert [dict(each.headers) for each in seen] == [
        {**ATTRIBUTES, "Nats-Msg-Id": "m1"},
        {**KEPT, "Nats-Msg-Id": "m1"},
    ]
