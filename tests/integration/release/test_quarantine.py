"""What a projection keeps back is shown to an operator and tried again when a build can fold it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from chancery.bus.publish import Outgoing, publish_message
from chancery.client.command.operator import ask_owner
from chancery.events.codec import encode
from chancery.events.envelope import Event
from chancery.events.index import RevisionExtracted
from chancery.events.parked import (
    DiscardOutcome,
    DiscardParked,
    FindParked,
    ParkedEntries,
    ParkedEntry,
    ParkedRetried,
    RetryParked,
)
from chancery.events.run import RunProposed
from chancery.events.topology import command_subject, index_subject, query_subject, run_subject
from chancery.kernel.errors import Corrupt, Rejected
from chancery.release.domain import authority_fold, index_fold
from chancery.runtime import worker
from chancery.store.pool import connect as connect_database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.test_draining import NewerBuild as NewerGrants
from tests.integration.release.test_draining import from_the_future, queue_of, row_of
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of

pytestmark = [pytest.mark.integration, pytest.mark.req("EV-7")]

TEXT = "Service reviews are owned by Mara Lindt.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
FUTURE = b".v99"


@dataclass(frozen=True, slots=True)
class NewerBuild:
    """A build whose codec also reads what `newer` makes of an event."""

    older: Callable[[bytes], Event]

    def __call__(self, payload: bytes) -> Event:
        """Decode the next version as this one."""
        for version in (b".v2", b".v1"):
            if FUTURE in payload:
                try:
                    return self.older(payload.replace(FUTURE, version))
                except Corrupt:
                    continue
        return self.older(payload)


def newer(event: Event) -> bytes:
    """Return the bytes of an event in a version that no build knows yet."""
    payload = encode(event)
    kind = event.data.TYPE.encode()
    assert kind in payload
    return payload.replace(kind, kind.rpartition(b".")[0] + FUTURE)


async def find(world: World, **wish: object) -> list[ParkedEntry]:
    subject = query_subject("release", "parked")
    wanted = FindParked.model_validate(wish)
    return list((await ask_owner(world.bus, subject, wanted, ParkedEntries)).entries)


async def retry(world: World, entry: ParkedEntry) -> ParkedRetried:
    body = RetryParked(consumer=entry.consumer, sequence=entry.sequence)
    subject = command_subject("release", "retry-parked")
    return await ask_owner(world.bus, subject, body, ParkedRetried, timeout_s=30)


async def discard(world: World, entry: ParkedEntry) -> DiscardOutcome:
    body = DiscardParked(consumer=entry.consumer, sequence=entry.sequence, reason="in the way")
    subject = command_subject("release", "discard-parked")
    return await ask_owner(world.bus, subject, body, DiscardOutcome)


def extraction(source: Published, extractor: str, text_sha256: str) -> RevisionExtracted:
    return RevisionExtracted(
        workspace_id=WORKSPACE,
        kind="source",
        key=source.ref.id,
        revision=1,
        content_sha256=source.manifest.content_sha256,
        authority_sequence=1,
        extraction_sha256=text_sha256,
        manifest_sha256="b" * 64,
        extractor=extractor,
        length=3,
    )


async def quarantined_first(world: World) -> Published:
    """Publish a source with one extraction from the future, then another of the same extractor."""
    source = await world.publish_source("handbook", TEXT)
    subject = index_subject(TENANT, "source", source.ref.id)
    hidden = event_of(extraction(source, "later/1", "c" * 64), subject=source.ref.id)
    await publish_message(
        world.bus, Outgoing(subject=subject, payload=newer(hidden), message_id=hidden.id)
    )
    await world.index(source.ref, extraction(source, "later/1", "d" * 64))
    return source


async def test_an_index_event_is_folded_in_its_place_once_a_build_can(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await quarantined_first(world)
    (entry,) = await find(world)
    assert (entry.consumer, entry.stream, entry.state) == ("release-index", "INDEX", "quarantined")
    assert entry.reason == "unknown_event_type"

    before = await retry(world, entry)
    assert (before.outcome, before.reason) == ("parked", "unknown_event_type")
    assert [each["extraction_sha256"][0] for each in await pins(world)][-1] == "d"

    monkeypatch.setattr(index_fold, "decode", NewerBuild(index_fold.decode))
    after = await retry(world, entry)

    assert after.outcome == "handled"
    assert await find(world) == []
    assert [each["extraction_sha256"][0] for each in await pins(world)][-1] == "c"


async def pins(world: World) -> list[dict[str, str]]:
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        entry = await db.fetchval("SELECT entry FROM release.index_state")
    return entry["extractions"]


async def test_a_frozen_aggregate_is_drained_on_an_operators_wish(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await world.publish_source("handbook", TEXT)
    last = await from_the_future(world, "handbook")
    await world.parts.authority.position.wait(last, timeout_s=30)
    (entry,) = await find(world, consumer="release-authority")
    assert (await retry(world, entry)).outcome == "parked"
    assert len(await queue_of(world.database)) == 1

    monkeypatch.setattr(authority_fold, "decode", NewerGrants(authority_fold.decode))
    assert (await retry(world, entry)).outcome == "handled"

    assert await row_of(world.database, source.ref.id) == (False, last, ["anna", "bert"])
    run_id = await world.answer_with((source, QUOTE))
    assert (await world.ended(run_id)).status == "sealed"


async def test_what_a_projection_keeps_back_is_never_discarded(world: World) -> None:
    await quarantined_first(world)
    last = await from_the_future(world, "handbook")
    await world.parts.authority.position.wait(last, timeout_s=30)
    entries = await find(world)
    codes: list[str] = []
    for entry in entries:
        with pytest.raises(Rejected) as caught:
            await discard(world, entry)
        codes.append(caught.value.code)

    assert [each.consumer for each in entries] == ["release-authority", "release-index"]
    assert codes == ["authority_event", "not_discardable"]
    assert len(await find(world)) == 2


async def test_a_parked_stage_ends_its_run_and_a_later_retry_does_not_bring_it_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    proposed = RunProposed(
        run_id=run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=(source.quote(QUOTE),),
    )
    event = event_of(proposed, subject=run_id)
    subject = run_subject(TENANT, run_id, "proposed")
    await publish_message(
        world.bus, Outgoing(subject=subject, payload=newer(event), message_id=event.id)
    )
    ended = await world.ended(run_id)
    (entry,) = await find(world, consumer="release-proposed")

    monkeypatch.setattr(worker, "decode", NewerBuild(worker.decode))
    retried = await retry(world, entry)

    assert (ended.status, retried.outcome) == ("refused", "handled")
    assert (await world.ended(run_id)).json_text == ended.json_text
    assert await world.count("release", run_id) == 1
    assert await find(world) == []


async def test_the_same_stage_would_have_sealed_its_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "decode", NewerBuild(worker.decode))
    source = await world.publish_source("handbook", TEXT)
    run_id = await world.ask()
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    proposed = RunProposed(
        run_id=run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=(source.quote(QUOTE),),
    )
    event = event_of(proposed, subject=run_id)
    subject = run_subject(TENANT, run_id, "proposed")
    await publish_message(
        world.bus, Outgoing(subject=subject, payload=newer(event), message_id=event.id)
    )

    async def is_sealed() -> bool:
        return (await world.document("answer", run_id)).status == "sealed"

    await eventually(is_sealed)
    assert await world.count("release", run_id) == 1
