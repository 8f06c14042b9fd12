"""Hits of curated items and private files: named by one form, opened by their manifest."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chancery.events.search import (
    Search,
    SearchHit,
    SearchKind,
    SearchPin,
    SearchResult,
    SearchRevision,
    SearchScope,
    SearchScopeOf,
)
from chancery.events.topology import query_subject
from chancery.evidence.knowledge import (
    KnowledgeManifest,
    VersionPin,
    VersionWords,
    build_view,
    roots_sha256,
)
from chancery.evidence.manifest import build_manifest
from chancery.evidence.parts import part_id
from chancery.extract.media import MARKDOWN, PDF
from chancery.gateway.domain.searches import searchable
from chancery.kernel.canonical import Json, sha256_hex
from tests.unit.gateway.fakes import World

PATH = "/v1/workspaces/w/search"
SCOPE = query_subject("release", "search-scope")
SEARCH = query_subject("retrieval", "search")
BODY = "The reading room opens at ten.\n"
BODY_SHA = sha256_hex(BODY.encode())


@pytest.fixture
def world() -> World:
    return World()


def _view(body: str = BODY, *, key: str = "k", version: int = 3) -> KnowledgeManifest:
    pin = VersionPin(
        item_key=key,
        item_id="guide",
        workspace_id="w",
        native_item_id="guide",
        native_workspace_id="w",
        version=version,
        version_id=f"version-{version}",
        native_version_id="n",
        operation_id="o",
        content_sha256=sha256_hex(body.encode()),
        evidence_sha256=roots_sha256(()),
        roots=(),
    )
    words = VersionWords(
        title="Guide",
        kind="article",
        domain="general",
        author="ada",
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    return build_view(pin, words, body, extractor="text/1")


async def _item(world: World, manifest: bytes | None = None) -> SearchRevision:
    data = _view().to_bytes() if manifest is None else manifest
    return SearchRevision(
        kind="item",
        key="k",
        id="guide",
        title="Guide",
        revision=3,
        media_type=MARKDOWN,
        state="ready",
        extraction_sha256=await world.blobs.put("default", BODY.encode()),
        manifest_sha256=await world.blobs.put("default", data),
        version_id="version-3",
    )


async def _file(world: World) -> SearchRevision:
    manifest = build_manifest(
        "f", 1, content_sha256="0" * 64, extractor="x/1", text=BODY, pages=(0, 4)
    )
    return SearchRevision(
        kind="file",
        key="f",
        id="f",
        title="Notes",
        revision=1,
        media_type=PDF,
        state="ready",
        extraction_sha256=await world.blobs.put("default", BODY.encode()),
        manifest_sha256=await world.blobs.put("default", manifest.to_bytes()),
    )


async def _search(world: World, **body: Json) -> tuple[int, dict[str, Json]]:
    async with world.client() as client:
        response = await client.post(PATH, json={"query": "reading room", **body})
    found: dict[str, Json] = response.json()
    return response.status_code, found


def _found(world: World, revision: SearchRevision, *hits: SearchHit) -> None:
    world.owners.answers[SCOPE] = SearchScope(checkpoint=5, revisions=(revision,))
    world.owners.answers[SEARCH] = SearchResult(hits=hits, index_position=9, unconfirmed=())


@pytest.mark.req("CR-10", "CR-11")
async def test_a_hit_of_an_item_names_its_version_and_no_page(world: World) -> None:
    _found(world, await _item(world), SearchHit(key="k", start=4, end=16))

    status, found = await _search(world, items=["guide"], files=["f"])

    assert status == 200
    assert found["hits"] == [
        {
            "item_id": "guide",
            "version": 3,
            "version_id": "version-3",
            "title": "Guide",
            "part": part_id("k", 3, BODY_SHA, 1),
            "start": 4,
            "end": 16,
            "excerpt": "reading room",
            "sha256": sha256_hex(b"reading room"),
        }
    ]
    scope, search = (request.body for _, request in world.owners.asked)
    assert isinstance(scope, SearchScopeOf)
    assert (scope.sources, scope.items, scope.files) == ((), ("guide",), ("f",))
    assert isinstance(search, Search)
    assert [(pin.kind, pin.key, pin.revision) for pin in search.pins] == [("item", "k", 3)]
    assert "guide" not in search.model_dump_json()


@pytest.mark.req("CR-10")
async def test_a_hit_of_a_private_file_names_the_file_alone(world: World) -> None:
    _found(world, await _file(world), SearchHit(key="f", start=4, end=16))

    status, found = await _search(world, files=["f"])

    assert status == 200
    assert isinstance(found["hits"], list)
    (hit,) = found["hits"]
    assert isinstance(hit, dict)
    assert (hit["file_id"], hit["revision"], hit["page"]) == ("f", 1, 2)
    assert hit["excerpt"] == "reading room"
    assert not {"source_id", "item_id", "version", "version_id"} & set(hit)


@pytest.mark.req("CR-8", "CR-13")
@pytest.mark.parametrize(
    "manifest",
    [
        _view(key="other").to_bytes(),
        _view(version=4).to_bytes(),
        _view(BODY.replace("ten", "two")).to_bytes(),
        _view().to_bytes()[:-1],
        build_manifest("k", 3, content_sha256=BODY_SHA, extractor="x/1", text=BODY).to_bytes(),
    ],
    ids=["another item", "another version", "another body", "truncated", "of a source"],
)
async def test_an_item_with_another_view_shows_nothing(world: World, manifest: bytes) -> None:
    hit = SearchHit(key="k", start=4, end=16)
    _found(world, await _item(world), hit)
    allowed, _ = await _search(world)
    _found(world, await _item(world, manifest), hit)

    status, found = await _search(world)

    assert (allowed, status) == (200, 503)
    assert "hits" not in found
    assert "reading room" not in str(found)


async def test_a_version_id_that_the_view_does_not_have_shows_nothing(world: World) -> None:
    item = await _item(world)
    for version_id in ("another", None):
        moved = item.model_copy(update={"version_id": version_id})
        _found(world, moved, SearchHit(key="k", start=4, end=16))

        status, found = await _search(world)

        assert (status, found["code"]) == (503, "foreign_hit")


@pytest.mark.parametrize("kind", ["source", "item", "file"])
async def test_the_pins_are_those_of_what_is_ready(world: World, kind: SearchKind) -> None:
    ready = (await _file(world)).model_copy(update={"kind": kind})
    pending = ready.model_copy(update={"key": "p", "state": "pending"})
    bare = ready.model_copy(update={"key": "b", "manifest_sha256": None})

    assert searchable([ready, pending, bare]) == (
        SearchPin(
            kind=kind,
            key="f",
            revision=1,
            extraction_sha256=str(ready.extraction_sha256),
            manifest_sha256=str(ready.manifest_sha256),
        ),
    )


@pytest.mark.req("CL-8", "CR-11")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"items": ["no id"]}, "items.0"),
        ({"files": ["f"] * 501}, "files"),
        ({"datasets": ["d"]}, "datasets"),
    ],
)
async def test_a_wrong_selection_names_its_field(
    world: World, body: dict[str, Json], field: str
) -> None:
    status, found = await _search(world, **body)

    assert (status, found["field"]) == (422, field)
    assert world.owners.asked == []
