"""A frozen aggregate denies, and is drained in order by a build that understands what froze it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from chancery.authority.names import source_ref
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import SourceGranted, SourceGrantRevoked
from chancery.events.envelope import Event
from chancery.kernel.errors import Corrupt
from chancery.release.adapters.draining import drain_frozen
from chancery.release.domain import authority_fold
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from tests.integration.release.test_refused_rows import DECLARED, POISON, POISONED
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."

Decode = Callable[[bytes], Event]


@dataclass(frozen=True, slots=True)
class NewerBuild:
    """A build whose codec also knows the next version of `granted`."""

    older: Decode

    def __call__(self, payload: bytes) -> Event:
        return self.older(payload.replace(b"granted.v9", b"granted.v1"))


async def from_the_future(world: World, source_id: str) -> int:
    """Append a grant in a version that no build knows yet."""
    ref = source_ref(WORKSPACE, source_id)
    event = event_of(SourceGranted(grantee="bert"), subject=ref.id)
    payload = event.envelope.model_dump_json(exclude_none=True).replace(".v1", ".v9")
    published = await publish_message(
        world.bus,
        Outgoing(
            subject=ref.subject(TENANT),
            payload=f'{payload[:-1]},"data":{{"grantee":"bert"}}}}'.encode(),
            message_id=event.id,
        ),
    )
    return published.sequence


async def row_of(database: Database, key: str) -> tuple[bool, int, list[str]]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        row = await db.fetchrow(
            "SELECT frozen, sequence, state FROM release.aggregate WHERE id = $1", key
        )
    assert row is not None
    return row["frozen"], row["sequence"], sorted(row["state"]["grants"])


async def queue_of(database: Database) -> list[str]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        rows = await db.fetch("SELECT reason FROM release.quarantine ORDER BY sequence")
    return [row["reason"] for row in rows]


async def drain_now(world: World) -> int:
    """Drain as the writer does when it starts."""
    projector = world.parts.authority
    async with connect_database(world.database.dsn("release"), name="test") as db:
        checkpoint = await projector.prepare()
        return await drain_frozen(db, checkpoint.table_set, checkpoint.mark)


@pytest.mark.req("CR-27", "EV-6", "KO-13")
async def test_a_frozen_aggregate_denies_and_is_drained_in_order(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"
    await from_the_future(world, "handbook")
    await world.append(source.ref, SourceGranted(grantee="carl"))
    last = await world.append(source.ref, SourceGrantRevoked(grantee="bert"))

    assert (await world.document("answer", run_id)).status == "withheld"
    assert await drain_now(world) == 0
    assert await queue_of(world.database) == [
        "unknown_event_type",
        "aggregate_frozen",
        "aggregate_frozen",
    ]

    monkeypatch.setattr(authority_fold, "decode", NewerBuild(authority_fold.decode))
    assert await drain_now(world) == 1

    assert await row_of(world.database, source.ref.id) == (False, last, ["anna", "carl"])
    assert await queue_of(world.database) == []
    assert (await world.document("answer", run_id)).status == "sealed"


async def test_a_queue_that_can_be_folded_in_part_stays_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await world.publish_source("handbook", TEXT)
    last = await from_the_future(world, "handbook")
    await publish_message(
        world.bus,
        Outgoing(subject=source.ref.subject(TENANT), payload=b"{", message_id="broken"),
    )
    await world.parts.authority.position.wait(last + 1, timeout_s=30)
    monkeypatch.setattr(authority_fold, "decode", NewerBuild(authority_fold.decode))

    assert await drain_now(world) == 0
    assert await row_of(world.database, source.ref.id) == (True, last + 1, ["anna"])
    assert len(await queue_of(world.database)) == 2


async def test_what_the_database_refuses_stays_frozen(world: World) -> None:
    await world.append(POISONED, DECLARED)
    last = await world.append(POISONED, POISON)
    await world.parts.authority.position.wait(last, timeout_s=30)

    assert await drain_now(world) == 0
    assert await queue_of(world.database) == ["not_storable"]


def test_the_newer_build_reads_what_this_one_cannot() -> None:
    payload = b'{"type":"chancery.source.granted.v9"}'
    with pytest.raises(Corrupt):
        authority_fold.decode(payload)
