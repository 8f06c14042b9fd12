"""A search at the edge: bounds, two steps, exact excerpts, and an index that is not believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.search import (
    Search,
    SearchHit,
    SearchResult,
    SearchRevision,
    SearchScope,
    SearchScopeOf,
)
from chancery.events.topology import query_subject
from chancery.evidence.manifest import build_manifest
from chancery.evidence.parts import PART_CHARACTERS, part_id
from chancery.extract.media import PDF, PLAIN
from chancery.gateway.domain.searches import ForeignHit, Opened, hit_reply
from chancery.kernel.canonical import Json, sha256_hex
from chancery.kernel.errors import NotFound
from tests.unit.gateway.fakes import World

PATH = "/v1/workspaces/w/search"
SCOPE = query_subject("release", "search-scope")
SEARCH = query_subject("retrieval", "search")
TEXT = "𝄞 first page\nsecond page: the spare pump stands in hall seven."


@pytest.fixture
def world() -> World:
    return World()


async def _revision(world: World, key: str = "k", media_type: str = PLAIN) -> SearchRevision:
    pages = (0, 13) if media_type == PDF else ()
    manifest = build_manifest(
        key, 2, content_sha256="0" * 64, extractor="x/1", text=TEXT, pages=pages
    )
    return SearchRevision(
        key=key,
        id=f"id-{key}",
        title=f"Title {key}",
        revision=2,
        media_type=media_type,
        state="ready",
        index_sequence=7,
        extraction_sha256=await world.blobs.put("default", TEXT.encode()),
        manifest_sha256=await world.blobs.put("default", manifest.to_bytes()),
    )


def _found(world: World, *hits: SearchHit, unconfirmed: tuple[str, ...] = ()) -> None:
    world.owners.answers[SEARCH] = SearchResult(
        hits=hits, index_position=9, unconfirmed=unconfirmed
    )


async def _search(world: World, **body: Json) -> tuple[int, dict[str, Json]]:
    async with world.client() as client:
        response = await client.post(PATH, json={"query": "spare pump", **body})
    found: dict[str, Json] = response.json()
    return response.status_code, found


async def test_a_hit_is_the_exact_text_at_its_code_points(world: World) -> None:
    paged, plain = await _revision(world, "p", PDF), await _revision(world, "q")
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(paged, plain))
    _found(
        world,
        SearchHit(key="p", start=13, end=24),
        SearchHit(key="q", start=0, end=7),
        SearchHit(key="p", start=2, end=7),
    )

    status, found = await _search(world, k=3, sources=["id-p", "id-q"])

    assert status == 200
    assert found["checkpoint"] == 5
    assert found["hits"] == [
        {
            "source_id": f"id-{key}",
            "revision": 2,
            "title": f"Title {key}",
            "part": part_id(key, 2, sha256_hex(TEXT.encode()), 1),
            "start": start,
            "end": end,
            "page": page,
            "rectangles": None,
            "cells": None,
            "excerpt": TEXT[start:end],
            "sha256": sha256_hex(TEXT[start:end].encode()),
        }
        for key, start, end, page in (("p", 13, 24, 2), ("q", 0, 7, None), ("p", 2, 7, 1))
    ]
    scope, search = (request.body for _, request in world.owners.asked)
    assert isinstance(scope, SearchScopeOf)
    assert scope.sources == ("id-p", "id-q")
    assert isinstance(search, Search)
    assert (search.limit, search.index_sequence) == (3, 7)
    assert [pin.key for pin in search.pins] == ["p", "q"]
    assert "Title" not in search.model_dump_json()
    assert "score" not in str(found)


async def test_what_is_selected_twice_is_searched_and_counted_once(world: World) -> None:
    world.owners.answers[SCOPE] = SearchScope(
        checkpoint=5, revisions=(await _revision(world, "p"),)
    )
    _found(world)

    await _search(world, sources=["p", "q", "p"], items=["i", "i"], files=["f", "f", "g"])

    scope = world.owners.asked[0][1].body
    assert isinstance(scope, SearchScopeOf)
    assert (scope.sources, scope.items, scope.files) == (("p", "q"), ("i",), ("f", "g"))


@pytest.mark.req("CL-1", "CL-2")
async def test_the_coverage_counts_what_was_not_searched(world: World) -> None:
    ready, lost = await _revision(world, "a"), await _revision(world, "b")
    pending = ready.model_copy(
        update={"key": "c", "state": "pending", "extraction_sha256": None, "manifest_sha256": None}
    )
    failed = pending.model_copy(update={"key": "d", "state": "failed", "reason": "encrypted"})
    world.owners.answers[SCOPE] = SearchScope(
        checkpoint=5, revisions=(ready, lost, pending, failed)
    )
    _found(world, unconfirmed=("b",))

    _, incomplete = await _search(world)
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(ready,))
    _found(world)
    _, complete = await _search(world)

    counts = {"eligible": 4, "ready": 1, "pending": 2, "failed": 1, "unavailable": 0}
    reasons = {"encrypted": 1, "not_confirmed": 1, "not_indexed_yet": 1}
    assert incomplete["coverage"] == {"state": "incomplete", **counts, "reasons": reasons}
    assert isinstance(complete["coverage"], dict)
    assert complete["coverage"]["state"] == "complete"
    assert "reasons" not in complete["coverage"]


async def test_nothing_ready_asks_no_index(world: World) -> None:
    pending = (await _revision(world)).model_copy(update={"state": "pending"})
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(pending,))

    status, found = await _search(world)

    assert (status, found["hits"]) == (200, [])
    assert [subject for subject, _ in world.owners.asked] == [SCOPE]


@pytest.mark.req("CL-12")
@pytest.mark.parametrize(
    "hit",
    [
        SearchHit(key="other", start=0, end=5),
        SearchHit(key="k", start=0, end=len(TEXT) + 1),
        SearchHit(key="k", start=5, end=5),
    ],
)
async def test_a_hit_outside_what_was_searched_shows_nothing(world: World, hit: SearchHit) -> None:
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(await _revision(world),))
    _found(world, SearchHit(key="k", start=0, end=5))
    allowed, _ = await _search(world)
    _found(world, SearchHit(key="k", start=0, end=5), hit)

    status, found = await _search(world)

    assert (allowed, status, found["code"]) == (200, 503, "foreign_hit")
    assert "hits" not in found


def _hit_ids(reply: dict[str, Json]) -> list[Json]:
    hits = reply["hits"]
    assert isinstance(hits, list)
    return [each["source_id"] for each in hits if isinstance(each, dict)]


async def test_a_hit_whose_text_is_lost_is_left_out_and_told_as_unavailable(world: World) -> None:
    revision = await _revision(world)
    other = await world.blobs.put("default", b"another text")
    gone = revision.model_copy(update={"key": "gone", "id": "gone", "extraction_sha256": other})
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(revision, gone))
    _found(world, *(SearchHit(key=key, start=0, end=5) for key in ("gone", "k", "gone")))
    _, before = await _search(world)
    await world.blobs.delete("default", other)

    status, found = await _search(world)

    assert (_hit_ids(before), status, _hit_ids(found)) == (["gone", "id-k", "gone"], 200, ["id-k"])
    assert found["coverage"] == {
        "state": "incomplete", "eligible": 2, "ready": 1, "pending": 0, "failed": 0,
        "unavailable": 1, "reasons": {"extraction_missing": 1},
    }  # fmt: skip


async def test_a_search_whose_only_text_is_lost_is_unavailable_and_no_missing_source(
    world: World,
) -> None:
    revision = await _revision(world)
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(revision,))
    _found(world, SearchHit(key="k", start=0, end=5))
    await world.blobs.delete("default", str(revision.extraction_sha256))

    status, found = await _search(world)

    assert (status, found["hits"]) == (200, [])
    assert isinstance(found["coverage"], dict)
    assert found["coverage"]["state"] == "unavailable"
    assert found["coverage"]["reasons"] == {"extraction_missing": 1}


async def test_what_release_refuses_is_never_searched(world: World) -> None:
    world.owners.answers[SCOPE] = NotFound("there is no such source", code="source_not_found")

    status, found = await _search(world, sources=["hidden"])

    assert (status, found["code"]) == (404, "source_not_found")
    assert [subject for subject, _ in world.owners.asked] == [SCOPE]


@pytest.mark.req("CL-8", "CR-11")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": " \n "}, "query"),
        ({"query": "x" * 4001}, "query"),
        ({"k": 0}, "k"),
        ({"k": 51}, "k"),
        ({"sources": ["no id"]}, "sources.0"),
        ({"sources": ["s"] * 501}, "sources"),
        ({"filters": {"kind": "page"}}, "filters"),
    ],
)
async def test_a_wrong_bound_names_its_field(
    world: World, body: dict[str, Json], field: str
) -> None:
    status, found = await _search(world, **body)

    assert (status, found["field"]) == (422, field)
    assert world.owners.asked == []


async def test_the_longest_query_is_trimmed_and_taken(world: World) -> None:
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(await _revision(world),))
    _found(world)

    status, _ = await _search(world, query=f"  {'𝄞' * 4000}\n", k=50)

    assert status == 200
    sent = world.owners.asked[-1][1].body
    assert isinstance(sent, Search)
    assert sent.query == "𝄞" * 4000


@given(
    length=st.integers(1, 2 * PART_CHARACTERS + 5),
    start=st.integers(0, 2 * PART_CHARACTERS + 5),
    size=st.integers(1, PART_CHARACTERS + 1),
)
def test_an_excerpt_stays_within_one_part(length: int, start: int, size: int) -> None:
    text = "".join(chr(0x1D11E + n % 50) for n in range(length))
    revision = SearchRevision(
        key="k",
        id="s",
        title="T",
        revision=1,
        media_type=PLAIN,
        state="ready",
        extraction_sha256="0" * 64,
    )
    opened = Opened(revision, text)
    hit = SearchHit(key="k", start=start, end=start + size)
    one_part = start // PART_CHARACTERS == (start + size - 1) // PART_CHARACTERS
    if start + size > length or not one_part:
        with pytest.raises(ForeignHit):
            hit_reply(opened, hit)
        return

    reply = hit_reply(opened, hit)

    assert reply.excerpt == text[start : start + size]
