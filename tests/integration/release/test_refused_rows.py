"""An event whose row the database refuses waits alone; nobody else's projection stops."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from chancery.authority.names import principal_ref, source_ref
from chancery.bus.publish import Outgoing, publish, publish_message
from chancery.events.authority import MemberAdded, RevisionPublished, SourceDeclared, SourceGranted
from chancery.events.index import RevisionFailed
from chancery.events.run import Bounds
from chancery.events.topology import index_subject
from chancery.kernel.errors import Rejected
from chancery.release.adapters import projector as projecting
from chancery.release.adapters import table_sets
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import WITHIN_S
from tests.integration.release.test_projection import (
    append,
    fill,
    projector,
    provisioned,
    running,
)
from tests.integration.release.test_rebuild import authority, rows_of
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of

pytestmark = pytest.mark.integration

DECLARED = SourceDeclared(
    workspace_id=WORKSPACE,
    source_id="poison",
    title="Poison",
    visibility="workspace",
    declarer="anna",
)
POISON = RevisionPublished(
    revision=1, content_sha256="0" * 64, media_type="text/\x00plain", size_bytes=1
)
BEYOND_INTEGERS = 2**40
POISONED = source_ref(WORKSPACE, "poison")
TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."


async def quarantined(database: Database, table: str = "quarantine") -> list[tuple[str, str]]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        rows = await db.fetch(f"SELECT subject, reason FROM release.{table} ORDER BY sequence")
    return [(row["subject"], row["reason"]) for row in rows]


@pytest.mark.req("CR-27", "EV-6")
async def test_a_refused_row_freezes_its_aggregate_and_the_tenant_goes_on(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    await world.append(POISONED, DECLARED)
    await world.append(POISONED, POISON)
    await world.append(POISONED, SourceGranted(grantee="bert"))
    event = event_of(
        RevisionFailed(
            workspace_id=WORKSPACE,
            kind="source",
            key=POISONED.id,
            revision=BEYOND_INTEGERS,
            content_sha256="0" * 64,
            authority_sequence=1,
            reason="odd",
        ),
        subject=POISONED.id,
    )
    await publish(world.bus, index_subject(TENANT, "source", POISONED.id), event)

    run_id = await world.answer_with((source, QUOTE))
    answer = await world.ended(run_id)

    assert answer.status == "sealed"
    subject = POISONED.subject(TENANT)
    assert await quarantined(world.database) == [
        (subject, "not_storable"),
        (subject, "aggregate_frozen"),
    ]
    assert [reason for _, reason in await quarantined(world.database, "quarantine_index")] == [
        "not_storable"
    ]
    admitted = await world.admitted(await world.ask())
    assert [entry.id for entry in (await world.scope(admitted)).entries] == ["handbook"]


async def test_a_subject_that_no_id_can_name_is_quarantined(world: World) -> None:
    odd = Outgoing(subject="authority.acme.source.x\u00e9", payload=b"{}", message_id="odd")
    await publish_message(world.bus, odd)
    last = await world.append(
        principal_ref("bert"), MemberAdded(workspace_id="other", role="reader")
    )

    await world.parts.authority.position.wait(last, timeout_s=30)

    assert await quarantined(world.database) == [("authority.acme.source.x\\xe9", "invalid_event")]


async def test_without_the_quarantine_a_refused_row_stops_the_projection(
    nats_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projecting, "REFUSED", ())
    async with provisioned(nats_url) as bus:
        await fill(bus, 1)
        await append(bus, POISONED, DECLARED)
        await append(bus, POISONED, POISON)

        with pytest.raises(asyncpg.DataError):
            async with asyncio.timeout(WITHIN_S):
                await projector(bus, database).run()


@pytest.mark.req("EV-5")
async def test_a_replay_refuses_the_same_event_wherever_it_stands_in_a_batch(
    nats_url: str, database: Database
) -> None:
    async with provisioned(nats_url) as bus:
        await fill(bus, 30)
        await append(bus, POISONED, DECLARED)
        await append(bus, POISONED, POISON)
        late = MemberAdded(workspace_id="late", role="reader")
        last = await append(bus, principal_ref("p7"), late)

        async with running(projector(bus, database)) as subject:
            await subject.position.wait(last, timeout_s=30)

        async with connect_database(database.superuser_dsn, name="test") as db:
            rows = await db.fetch("SELECT id, state FROM release.aggregate WHERE frozen")
        assert [row["id"] for row in rows] == [POISONED.id]
        assert (rows[0]["state"]["title"], rows[0]["state"]["revisions"]) == ("Poison", [])


@pytest.mark.req("EV-5")
async def test_a_rebuild_refuses_the_same_event_and_goes_on(
    nats_url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_sets, "BATCH_MESSAGES", 4)
    async with provisioned(nats_url) as bus:
        await fill(bus, 10)
        await append(bus, POISONED, DECLARED)
        await append(bus, POISONED, POISON)
        await fill(bus, 10)
        late = MemberAdded(workspace_id="late", role="reader")
        last = await append(bus, principal_ref("p7"), late)
        async with running(projector(bus, database)) as subject:
            await subject.position.wait(last, timeout_s=30)

        rebuilt = await authority(bus, database).rebuild(lambda _: None)

        live, fresh = await rows_of(database, 1), await rows_of(database, 2)
    assert rebuilt.mark.sequence == last
    assert fresh == live
    assert any("not_storable" in row for row in live["quarantine"])


@pytest.mark.req("KO-6")
async def test_a_message_with_text_that_cannot_be_stored_is_refused(world: World) -> None:
    with pytest.raises(Rejected) as caught:
        await world.post(bounds=Bounds(profile="a\x00b"))

    assert caught.value.code == "unreadable_text"
