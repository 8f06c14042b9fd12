"""A log of mixed versions: older events are upcast at the edge and give the same state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from chancery.bus.publish import Outgoing, publish_message
from chancery.events import codec
from chancery.events.authority import SourceGranted, SourceGrantRevoked
from chancery.events.envelope import EventData, Id
from chancery.kernel.canonical import Json, canonical_bytes
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from tests.integration.release.published import Published
from tests.integration.release.test_rebuild import authority, rows_of
from tests.integration.release.test_seal import QUOTE, TEXT
from tests.integration.release.world import TENANT, World, event_of

pytestmark = pytest.mark.integration

GRANTED, REVOKED = "chancery.source.granted", "chancery.source.grant-revoked"
READER = "bert"


class GrantedOnce(EventData):
    """A grant as version 0 would have told it."""

    TYPE: ClassVar[str] = f"{GRANTED}.v0"
    who: Id


class RevokedOnce(EventData):
    """The end of a grant as version 0 would have told it."""

    TYPE: ClassVar[str] = f"{REVOKED}.v0"
    who: Id


def to_grantee(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the data of version 1: version 0 called the grantee `who`."""
    return {"grantee": data["who"]}


def learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teach this build an older version of two events."""
    older = (GrantedOnce, RevokedOnce)
    models = {each.TYPE: each for each in older}
    upcasters = {each.TYPE: (each.TYPE.replace("v0", "v1"), to_grantee) for each in older}
    monkeypatch.setattr(codec, "MODELS", {**codec.MODELS, **models})
    monkeypatch.setattr(codec, "UPCASTERS", {**codec.UPCASTERS, **upcasters})


async def append_older(world: World, source: Published, data: EventData) -> int:
    """Append an event as a build wrote it that had version 0 only."""
    event = event_of(data, subject=source.ref.id)
    fields: dict[str, Json] = event.envelope.model_dump(mode="json", exclude_none=True)
    body: dict[str, Json] = data.model_dump(mode="json")
    payload = canonical_bytes({**fields, "data": body})
    subject = source.ref.subject(TENANT)
    outgoing = Outgoing(subject=subject, payload=payload, message_id=event.id)
    return (await publish_message(world.bus, outgoing)).sequence


async def state_of(database: Database, source: Published) -> tuple[bool, dict[str, Json]]:
    async with connect_database(database.superuser_dsn, name="test") as db:
        row = await db.fetchrow(
            "SELECT frozen, state FROM release.aggregate WHERE id = $1", source.ref.id
        )
    assert row is not None
    own = {"title", "source_id"}
    return row["frozen"], {name: row["state"][name] for name in row["state"] if name not in own}


async def write_mixed(world: World, source: Published) -> None:
    await append_older(world, source, GrantedOnce(who=READER))
    await world.append(source.ref, SourceGranted(grantee="carl"))
    await append_older(world, source, RevokedOnce(who="carl"))
    await world.append(source.ref, SourceGranted(grantee="dora"))
    await append_older(world, source, GrantedOnce(who="carl"))
    await world.append(source.ref, SourceGrantRevoked(grantee="dora"))


async def write_newest(world: World, source: Published) -> None:
    await world.append(source.ref, SourceGranted(grantee=READER))
    await world.append(source.ref, SourceGranted(grantee="carl"))
    await world.append(source.ref, SourceGrantRevoked(grantee="carl"))
    await world.append(source.ref, SourceGranted(grantee="dora"))
    await world.append(source.ref, SourceGranted(grantee="carl"))
    last = await world.append(source.ref, SourceGrantRevoked(grantee="dora"))
    await world.parts.authority.position.wait(last, timeout_s=30)


@pytest.mark.req("EV-4", "EV-5")
async def test_a_log_of_mixed_versions_gives_the_same_state_and_decisions(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(monkeypatch)
    mixed = await world.publish_source("mixed", TEXT, visibility="restricted")
    newest = await world.publish_source("newest", TEXT, visibility="restricted")
    await write_mixed(world, mixed)
    await write_newest(world, newest)

    run_id = await world.ask(who=READER, sources=("mixed",))
    admitted = await world.admitted(run_id)
    await world.gather(admitted, mixed)
    await world.propose(admitted, mixed.quote(QUOTE))
    answer = await world.ended(run_id, who=READER)
    rebuilt = await authority(world.bus, world.database).rebuild(lambda _: None)
    await world.parts.authority.position.wait(rebuilt.mark.sequence, timeout_s=30)

    before = await state_of(world.database, newest)
    assert before == (False, (await state_of(world.database, mixed))[1])
    assert set(str(before[1]["grants"]).split("'")) >= {"anna", READER, "carl"}
    assert answer.status == "sealed"
    live, fresh = await rows_of(world.database, 1), await rows_of(world.database, 2)
    assert {**fresh, "index_state": []} == {**live, "index_state": []}


async def test_a_build_without_the_upcaster_denies_instead_of_guessing(world: World) -> None:
    source = await world.publish_source("mixed", TEXT, visibility="restricted")
    last = await append_older(world, source, GrantedOnce(who=READER))
    await world.parts.authority.position.wait(last, timeout_s=30)

    run_id = await world.ask(who=READER, sources=("mixed",))

    frozen, _ = await state_of(world.database, source)
    assert frozen
    assert (await world.ended(run_id, who=READER)).status == "refused"
