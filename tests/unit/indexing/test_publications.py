"""What indexing tells of a source: in any order, after any crash, and never too much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.authority.errors import BrokenRule
from chancery.events import authority
from chancery.events.envelope import EventData
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.evidence.manifest import Manifest, check_text
from chancery.indexing.errors import NeverDeclared
from tests.unit.indexing.world import Crashed, World, declared_source, revision_of, text_hash

LONG = b"one " * 80_000
"""More than is extracted at once."""


async def _source(*texts: bytes) -> World:
    world = World()
    world.record(declared_source())
    for text in texts:
        await world.handle(await world.publish(text))
    return world


@pytest.mark.req("CL-1")
async def test_a_published_text_becomes_pending_extracted_and_ready() -> None:
    world = await _source(LONG)

    assert world.told() == ["pending 1", "extracted 1", "ready 1"]


@pytest.mark.req("CL-1")
async def test_a_short_text_is_ready_before_anybody_could_be_told_that_it_is_pending() -> None:
    world = await _source(b"Team Alpha owns reviews.\r\n")

    assert world.told() == ["extracted 1", "ready 1"]


async def test_what_is_lost_by_now_takes_nothing_from_what_was_extracted() -> None:
    world = World()
    world.record(declared_source())
    publication = await world.publish(b"one")
    await world.handle(publication)
    world.blobs.stored.clear()

    await world.handle(publication)

    assert world.told() == ["extracted 1", "ready 1"]


@pytest.mark.req("KO-3", "CR-8")
async def test_the_events_name_blobs_that_hold_the_text_and_its_parts() -> None:
    text = ("Ä paragraph.\n\n" * 900).encode()
    world = await _source(text)

    told = world.last(RevisionExtracted)
    assert isinstance(told, RevisionExtracted)
    manifest = Manifest.from_bytes(await world.blobs.get("acme", told.manifest_sha256, limit=10**6))
    stored = await world.blobs.get("acme", told.extraction_sha256, limit=10**6)
    check_text(manifest, stored.decode())
    assert stored == text
    assert (told.content_sha256, told.extractor) == (text_hash(text), "text/1")
    assert (told.length, len(manifest.parts)) == (len(text.decode()), 3)


async def test_a_newer_revision_supersedes_before_it_is_ready() -> None:
    world = await _source(b"one", b"two")

    assert world.told()[2:] == ["excluded 1 superseded", "extracted 2", "ready 2"]


async def test_a_superseded_revision_is_still_extracted_once() -> None:
    world = World()
    world.record(declared_source())
    first, second = await world.publish(b"one"), await world.publish(b"two")

    await world.handle(first, second, first)

    assert sorted(world.told()) == sorted(
        ["excluded 1 superseded", "pending 2", "extracted 1", "extracted 2", "ready 2"]
    )


@pytest.mark.parametrize(
    ("text", "media_type", "reason"),
    [
        (b"a\x00b", "text/plain", "nul_character"),
        (b"\xff", "text/markdown", "invalid_utf8"),
        (b"%PDF", "application/pdf", "unsupported_media_type"),
    ],
)
async def test_what_cannot_be_extracted_fails_with_its_code(
    text: bytes, media_type: str, reason: str
) -> None:
    world = await _source()

    await world.handle(await world.publish(text, media_type=media_type))

    assert world.told() == ["pending 1", f"failed 1 {reason}"]


@pytest.mark.req("EV-7")
async def test_a_missing_or_altered_blob_fails_only_its_revision() -> None:
    world = await _source(b"one")
    missing = await world.publish(b"two")
    world.blobs.stored.clear()
    await world.handle(missing)
    altered = await world.publish(b"three")
    world.blobs.stored[f"acme/{text_hash(b'three')}"] = b"other"
    await world.handle(altered)

    await world.handle(await world.publish(b"four"))

    assert "failed 2 blob_not_found" in world.told()
    assert "failed 3 blob_corrupt" in world.told()
    assert world.standings() == {1: "excluded", 2: "excluded", 3: "excluded", 4: "ready"}


@pytest.mark.req("CL-4")
async def test_a_withdrawn_revision_is_excluded_and_a_restored_one_ready_again() -> None:
    world = await _source(b"one")

    await world.handle(world.record(authority.RevisionWithdrawn()))
    excluded = world.told()[-1]
    await world.handle(world.record(authority.SourceRestored()))

    assert excluded == "excluded 1 withdrawn"
    assert world.told()[-1] == "ready 1"
    assert world.told().count("extracted 1") == 1


@pytest.mark.req("CL-4")
async def test_a_result_that_comes_after_the_withdrawal_does_not_revive() -> None:
    world = World(crashes=frozenset({4}))
    world.record(declared_source())
    publication = await world.publish(LONG)
    with pytest.raises(Crashed):
        await world.handle(publication)
    world.record(authority.RevisionWithdrawn())

    await world.handle(publication)

    assert world.told() == ["pending 1", "excluded 1 withdrawn"]


@pytest.mark.req("CL-4")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LONG, ["pending 1", "excluded 1 withdrawn"]),
        (b"one", ["excluded 1 withdrawn"]),
    ],
)
async def test_a_withdrawal_while_the_text_is_extracted_wins(text: bytes, told: list[str]) -> None:
    world = World()
    world.record(declared_source())
    publication = await world.publish(text)
    world.while_reading = lambda: world.record(authority.RevisionWithdrawn())
    await world.handle(publication)

    assert world.told() == told


@pytest.mark.req("EV-6", "KO-3")
async def test_an_event_that_the_log_does_not_hold_gives_no_text_its_form() -> None:
    world = World()
    world.record(declared_source())
    await world.publish(b"one")
    other = await world.publish(b"two")
    world.authority.pop()
    forged = replace(other, data=_renumbered(other.data, 1))

    await world.handle(forged)

    told = world.last(RevisionExtracted)
    assert isinstance(told, RevisionExtracted)
    assert told.extraction_sha256 == told.content_sha256 == text_hash(b"one")


def _renumbered(data: EventData, number: int) -> EventData:
    assert isinstance(data, authority.RevisionPublished)
    return data.model_copy(update={"revision": number})


async def test_grants_and_titles_change_no_state() -> None:
    world = await _source(b"one")
    before = world.told()

    await world.handle(world.record(authority.SourceGranted(grantee="bob")))
    await world.handle(world.record(declared_source("Other title")))

    assert world.told() == before


async def test_a_revision_of_an_undeclared_source_is_not_concluded_from() -> None:
    world = World()
    publication = await world.publish(b"one")

    with pytest.raises(BrokenRule):
        await world.handle(publication)
    world.authority.clear()
    with pytest.raises(NeverDeclared):
        await world.handle(publication)

    assert world.told() == []


@pytest.mark.req("EV-6")
async def test_any_delivery_twice_equals_once() -> None:
    world = await _source(b"one", b"two")
    await world.handle(world.record(authority.RevisionWithdrawn()))
    before = world.told()

    for place in range(len(world.authority)):
        await world.handle(world.event(place))

    assert world.told() == before


@pytest.mark.req("EV-6")
async def test_a_forgotten_exclusion_is_mended_by_the_restoration() -> None:
    world = await _source(b"one")
    withdrawal = world.record(authority.RevisionWithdrawn())
    world.crashes = frozenset({world.steps + 3})
    with pytest.raises(Crashed):
        await world.handle(withdrawal)
    restoration = world.record(authority.SourceRestored())

    await world.handle(withdrawal, restoration)

    assert world.told()[-2:] == ["excluded 1 withdrawn", "ready 1"]


_SCRIPTS = st.lists(st.sampled_from(["publish", "withdraw", "restore", "title"]), max_size=6)


@pytest.mark.req("EV-6", "CL-4")
@settings(max_examples=150, deadline=None)
@given(
    script=_SCRIPTS,
    order=st.lists(st.integers(0, 6), max_size=12),
    crashes=st.frozensets(st.integers(1, 60), max_size=8),
)
async def test_crashes_and_any_order_of_deliveries_converge(
    script: list[str], order: list[int], crashes: frozenset[int]
) -> None:
    world = World(crashes=crashes)
    world.record(declared_source())
    for act, place in zip(script, [*order, *[0] * 6], strict=False):
        await _act(world, act)
        await _deliver(world, place % len(world.authority))
    for place in order:
        await _deliver(world, place % len(world.authority))
    world.crashes = frozenset()
    for place in range(len(world.authority)):
        await world.handle(world.event(place))

    count = sum(isinstance(data, authority.RevisionPublished) for _, data in world.authority)
    serving = world.serving()
    expected = {n: "ready" if n == serving else "excluded" for n in range(1, count + 1)}
    ids = [event.id for _, event in world.index]
    extracted = [e.data for _, e in world.index if isinstance(e.data, RevisionExtracted)]
    assert world.standings() == expected
    assert len(set(ids)) == len(ids)
    assert len({revision_of(data) for data in extracted}) == len(extracted)
    if serving is not None:
        ready = world.last(RevisionReady)
        assert isinstance(ready, RevisionReady)
        assert ready.manifest_sha256 in {data.manifest_sha256 for data in extracted}


async def _act(world: World, act: str) -> None:
    published = any(isinstance(data, authority.RevisionPublished) for _, data in world.authority)
    match act:
        case "publish":
            await world.publish(f"text {len(world.authority)}".encode())
        case "withdraw" if world.serving() is not None:
            world.record(authority.RevisionWithdrawn())
        case "restore" if published and world.serving() is None:
            world.record(authority.SourceRestored())
        case _:
            world.record(declared_source(f"Title {len(world.authority)}"))


async def _deliver(world: World, place: int) -> None:
    try:
        await world.handle(world.event(place))
    except Crashed:
        return
