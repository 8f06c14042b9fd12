"""The authority projection against a real log and database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from chancery.authority.names import AggregateRef, principal_ref, tenant_ref
from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_sequence
from chancery.bus.provision import apply
from chancery.bus.publish import Outgoing, publish, publish_message
from chancery.events.authority import MemberAdded, MemberRemoved, TenantCreated
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.topology import (
    AUTHORITY,
    FENCE_SUBJECT,
    RELEASE_AUTHORITY,
    consumer,
)
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.log_end import ask_leader, log_end_reader, raise_fence
from chancery.release.adapters.projector import Projector
from chancery.release.errors import ForeignLog
from chancery.release.ports.position import Position
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually

pytestmark = pytest.mark.integration

TENANT = "acme"


def event_of(ref: AggregateRef, data: EventData) -> Event:
    envelope = Envelope(
        id=random_id(),
        source="test",
        type=data.TYPE,
        subject=ref.id,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        tenant=TENANT,
    )
    return Event(envelope=envelope, data=data)


async def append(bus: Connection, ref: AggregateRef, data: EventData) -> int:
    return (await publish(bus, ref.subject(TENANT), event_of(ref, data))).sequence


@asynccontextmanager
async def provisioned(nats_url: str) -> AsyncGenerator[Connection]:
    async with connect(nats_url, name="test-release") as bus:
        await apply(bus)
        yield bus


def projector(bus: Connection, database: Database) -> Projector:
    return Projector(
        name="authority",
        bus=bus,
        dsn=SecretStr(database.dsn("release")),
        consumer=consumer(RELEASE_AUTHORITY),
        new_applier=AuthorityApplier,
        position=Position(),
    )


@asynccontextmanager
async def running(subject: Projector) -> AsyncGenerator[Projector]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(subject.run())
        try:
            yield subject
        finally:
            task.cancel()


async def dump(database: Database) -> tuple[list[object], bytes]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        rows = await db.fetch(
            "SELECT tenant, kind, id, workspace_id, serving, sequence, frozen, state"
            " FROM release.aggregate ORDER BY tenant, kind, id"
        )
        digest = await db.fetchval(
            "SELECT digest FROM release.checkpoint WHERE projection = 'authority'"
        )
        return [tuple(row) for row in rows], digest


async def forget(database: Database) -> None:
    async with connect_database(database.superuser_dsn, name="test") as db:
        for table in ("aggregate", "cut", "quarantine", "checkpoint"):
            await db.execute(f"DELETE FROM release.{table}")


async def fill(bus: Connection, people: int = 20) -> int:
    await append(bus, tenant_ref(TENANT), TenantCreated())
    last = 0
    for number in range(people):
        who = principal_ref(f"p{number}")
        await append(bus, who, MemberAdded(workspace_id="w", role="reader"))
        await publish_message(
            bus, Outgoing(subject=FENCE_SUBJECT, payload=b"{}", message_id=random_id(), ttl_s=60)
        )
        last = await append(bus, who, MemberRemoved(workspace_id="w"))
    return last


@pytest.mark.req("EV-5")
async def test_dropping_the_projection_and_replaying_gives_the_same_rows_and_digest(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        last = await fill(bus)
        async with running(projector(bus, database)) as live:
            await live.position.wait(last, timeout_s=30)
        before = await dump(database)

        await forget(database)
        async with running(projector(bus, database)) as rebuilt:
            await rebuilt.position.wait(last, timeout_s=30)

        assert len(before[0]) == 21
        assert await dump(database) == before


@pytest.mark.req("EV-6")
async def test_a_restarted_projection_goes_on_where_it_stopped(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        last = await fill(bus, 3)
        async with running(projector(bus, database)) as first:
            await first.position.wait(last, timeout_s=30)
        last = await append(bus, principal_ref("p0"), MemberAdded(workspace_id="w", role="admin"))

        async with running(projector(bus, database)) as second:
            await second.position.wait(last, timeout_s=30)

        rows, digest = await dump(database)
        await forget(database)
        async with running(projector(bus, database)) as replayed:
            await replayed.position.wait(last, timeout_s=30)
        assert await dump(database) == (rows, digest)


async def test_an_event_of_a_newer_version_freezes_its_aggregate_and_only_that(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        frozen, other = principal_ref("frozen"), principal_ref("other")
        await append(bus, frozen, MemberAdded(workspace_id="w", role="reader"))
        newer = event_of(frozen, MemberRemoved(workspace_id="w"))
        payload = newer.envelope.model_dump_json(exclude_none=True).replace(".v1", ".v9")
        await publish_message(
            bus,
            Outgoing(
                subject=frozen.subject(TENANT),
                payload=f'{payload[:-1]},"data":{{"workspace_id":"w"}}}}'.encode(),
                message_id=newer.id,
            ),
        )
        await append(bus, frozen, MemberAdded(workspace_id="w", role="admin"))
        last = await append(bus, other, MemberAdded(workspace_id="w", role="reader"))

        async with running(projector(bus, database)) as subject:
            await subject.position.wait(last, timeout_s=30)

        async with connect_database(database.superuser_dsn, name="test") as db:
            rows = await db.fetch("SELECT id, sequence, frozen, state FROM release.aggregate")
            found = {row["id"]: row for row in rows}
            reasons = await db.fetch(
                "SELECT sequence, reason FROM release.quarantine ORDER BY sequence"
            )
        assert found["frozen"]["frozen"] is True
        assert found["frozen"]["sequence"] == last - 1
        assert found["frozen"]["state"]["memberships"] == {"w": "reader"}
        assert found["other"]["frozen"] is False
        assert [row["reason"] for row in reasons] == ["unknown_event_type", "aggregate_frozen"]


async def test_a_recreated_log_is_refused_with_a_sentence(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        last = await fill(bus, 2)
        async with running(projector(bus, database)) as subject:
            await subject.position.wait(last, timeout_s=30)
        await bus.jetstream.delete_stream(AUTHORITY)
        await apply(bus)

        with pytest.raises(ForeignLog, match="created again") as caught:
            await projector(bus, database).prepare()

        assert caught.value.code == "log_recreated"
        assert (await last_sequence(bus, AUTHORITY)).last == 0


async def test_a_second_projector_stands_by_and_takes_over(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        last = await fill(bus, 2)
        second = projector(bus, database)
        async with running(projector(bus, database)) as first:
            await first.position.wait(last, timeout_s=30)
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(second.run())
                await second.position.wait(last, timeout_s=30)
                last = await append(
                    bus, principal_ref("p0"), MemberAdded(workspace_id="w", role="admin")
                )
                await second.position.wait(last, timeout_s=30)
                was_writer = second.is_writer
                task.cancel()
        async with running(second):
            await eventually(lambda: second.is_writer)
            last = await append(
                bus, principal_ref("p1"), MemberAdded(workspace_id="w", role="admin")
            )
            await second.position.wait(last, timeout_s=30)

        assert first.is_writer is False
        assert was_writer is False


async def test_either_end_of_the_log_lies_above_what_was_acknowledged(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        acknowledged = await fill(bus, 2)
        clock = SystemClock()

        created = (await last_sequence(bus, AUTHORITY)).created
        leader = await ask_leader(bus, created)()
        fence = await raise_fence(bus, clock)
        chosen = await (await log_end_reader(bus, clock, Position()))()

        assert leader == acknowledged
        assert (fence, chosen) == (acknowledged + 1, acknowledged + 1)
        async with running(projector(bus, database)) as subject:
            await subject.position.wait(fence, timeout_s=30)
        rows, digest = await dump(database)
        await forget(database)
        await raise_fence(bus, clock)
        async with running(projector(bus, database)) as again:
            await again.position.wait(fence + 1, timeout_s=30)
        assert await dump(database) == (rows, digest)
