"""Searching over the bus: what was admitted is found at its offsets, and nothing else is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.events.authority_knowledge import FileUploaded
from chancery.events.search import Search
from chancery.kernel.canonical import sha256_hex
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Place, open_log, running
from tests.integration.indexing.test_knowledge import FILE, ITEM, publish
from tests.integration.retrieval.harness import Desk

pytestmark = pytest.mark.integration

_FILLER = "Filler sentence about nothing. " * 200
_OWNER = "Team Alpha owns the quarterly service reviews."
_QUERY = "Who owns the service reviews?"


@pytest.fixture
def place(nats_url: str, database: Database, tmp_path: Path) -> Place:
    return Place(nats_url, database, tmp_path)


@pytest.fixture
async def desk(place: Place) -> AsyncGenerator[Desk]:
    async with open_log(place) as log:
        yield Desk(log)


@pytest.mark.req("CL-12")
async def test_only_what_is_in_the_scope_is_found_counted_or_named(
    desk: Desk, place: Place
) -> None:
    mine, other = await desk.log.declare("mine"), await desk.log.declare("other")
    text = f"{_FILLER}{_OWNER} {_FILLER}"
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(mine, text.encode())
        await desk.log.publish(other, _OWNER.encode())
        first, second = await desk.ready(mine), await desk.ready(other)

        wide = await desk.search(_QUERY, first, second)
        narrow = await desk.search(_QUERY, first)
        one = await desk.search(_QUERY, first, second, limit=1)
        nothing = await desk.search(_QUERY)

    best = narrow.hits[0]
    assert _OWNER in text[best.start : best.end]
    assert {hit.key for hit in wide.hits} == {mine.key, other.key}
    assert {hit.key for hit in narrow.hits} == {mine.key}
    assert one.hits == wide.hits[:1]
    assert nothing.hits == ()
    assert wide.unconfirmed == narrow.unconfirmed == ()
    assert narrow.index_position >= first.index_sequence
    assert "score" not in wide.model_dump_json()


@pytest.mark.req("CR-10", "CL-12")
async def test_an_item_and_a_file_are_found_by_pins_of_their_own_kind(
    desk: Desk, place: Place
) -> None:
    body = f"{_OWNER}\n"
    with running("indexing", place), running("retrieval", place):
        await publish(desk.log, body)
        await desk.log.blobs.put("acme", body.encode())
        uploaded = FileUploaded(
            file_id=FILE.key,
            owner="ada",
            title="note.md",
            content_sha256=sha256_hex(body.encode()),
            media_type="text/markdown",
            size_bytes=len(body),
        )
        await desk.log.record(FILE, uploaded)
        pinned = [await desk.pin(ITEM), await desk.pin(FILE)]
        position, pins = max(at for at, _ in pinned), tuple(pin for _, pin in pinned)
        search = Search(query=_QUERY, limit=10, index_sequence=position, pins=pins)
        both = await desk.send(search)
        item = await desk.send(search.model_copy(update={"pins": pins[:1]}))
        swapped = tuple(pin.model_copy(update={"kind": "source"}) for pin in pins)
        of_another_kind = await desk.send(search.model_copy(update={"pins": swapped}))

    assert [pin.kind for pin in pins] == ["item", "file"]
    assert {hit.key for hit in both.hits} == {ITEM.key, FILE.key}
    assert [(hit.key, body[hit.start : hit.end]) for hit in item.hits] == [(ITEM.key, body)]
    assert both.unconfirmed == item.unconfirmed == ()
    assert of_another_kind.hits == ()
    assert set(of_another_kind.unconfirmed) == {ITEM.key, FILE.key}


@pytest.mark.req("CL-4", "CL-12")
async def test_a_stale_index_finds_nothing_of_what_left_the_scope(desk: Desk, place: Place) -> None:
    kept, gone = await desk.log.declare("kept"), await desk.log.declare("gone")
    with running("retrieval", place):
        with running("indexing", place):
            for ref in (kept, gone):
                await desk.log.publish(ref, _OWNER.encode())
            first, second = await desk.ready(kept), await desk.ready(gone)
        await desk.log.record(gone, RevisionWithdrawn())

        stale = await desk.search(_QUERY, first, second)
        scoped = await desk.search(_QUERY, first)

    assert {hit.key for hit in stale.hits} == {kept.key, gone.key}
    assert {hit.key for hit in scoped.hits} == {kept.key}


@pytest.mark.req("CL-4")
async def test_a_revision_that_was_withdrawn_is_not_found_by_its_old_pin(
    desk: Desk, place: Place
) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _OWNER.encode())
        entry = await desk.ready(ref)
        before = await desk.search(_QUERY, entry)
        await desk.log.record(ref, RevisionWithdrawn())

        async def excluded() -> bool:
            return "excluded 1 withdrawn" in await desk.log.told(ref)

        await eventually(excluded)
        last = (await desk.log.index(ref))[-1].sequence
        after = await desk.search(_QUERY, entry.model_copy(update={"index_sequence": last}))

    assert len(before.hits) == 1
    assert (after.hits, after.unconfirmed) == ((), (ref.key,))
