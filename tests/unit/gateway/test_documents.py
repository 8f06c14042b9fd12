"""Documents other than texts at the edge: which are let in, and where a passage of them stands."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from chancery.authority.tokens import build_token, secret_for
from chancery.events import commands, queries
from chancery.evidence.layout import Layout, PageLayout, SheetLayout
from chancery.evidence.manifest import build_manifest
from chancery.extract.media import DOCX, HTML, JPEG, PDF, PNG, XLSX
from chancery.gateway.handlers.edge import TEXTS_MAX, TEXTS_OF_ONE_MAX
from chancery.kernel.canonical import Json, sha256_hex
from chancery.store.blobs import Receiving
from chancery.testkit.waiting import eventually
from tests.unit.gateway.fakes import KEY, TOKEN, World

SOURCE = "/v1/workspaces/w/sources/s"
TEXT = "first line\nsecond line\n\nthird"


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        (PDF, b"%PDF-1.7 text %%EOF"),
        (DOCX, b"PK\x03\x04 text"),
        (XLSX, b"PK\x03\x04 text"),
        (HTML, b"<p>text"),
        (PNG, b"\x89PNG\r\n\x1a\n data"),
        (JPEG, b"\xff\xd8\xff data"),
    ],
)
async def test_a_document_that_begins_as_its_media_type_says_is_taken(
    world: World, media_type: str, data: bytes
) -> None:
    world.owners.answers["query.ingestion.upload-permission.v1"] = commands.Outcome(
        sequence=1, changed=False
    )
    world.owners.answers["command.ingestion.publish-revision.v1"] = commands.PublishedOutcome(
        key="k", revision=1, sequence=2, content_sha256="a" * 64, event_id="e", changed=True
    )

    async with world.client() as client:
        response = await client.post(
            f"{SOURCE}/revisions", content=data, headers={"Content-Type": media_type}
        )

    assert response.status_code == 202
    sent = world.owners.asked[-1][1].body
    assert isinstance(sent, commands.PublishRevision)
    assert (sent.media_type, sent.content_sha256) == (media_type, sha256_hex(data))
    assert await world.blobs.exists("default", sent.content_sha256)


async def _publish(world: World, layout: Layout | None, pages: tuple[int, ...] = ()) -> None:
    layout_sha256 = None
    if layout is not None:
        layout_sha256 = await world.blobs.put("default", layout.to_bytes())
    manifest = build_manifest(
        "key",
        1,
        content_sha256="0" * 64,
        extractor="pdf/1",
        text=TEXT,
        pages=pages,
        layout_sha256=layout_sha256,
    )
    world.owners.answers["query.release.authorise.v1"] = queries.PinnedRevision(
        kind="source",
        key="key",
        id="s",
        title="S",
        revision=1,
        content_sha256="0" * 64,
        media_type=PDF,
        size_bytes=1,
        state="ready",
        extraction_sha256=await world.blobs.put("default", TEXT.encode()),
        manifest_sha256=await world.blobs.put("default", manifest.to_bytes()),
    )


async def _check(world: World, text: str) -> dict[str, Json]:
    async with world.client() as client:
        response = await client.post(f"{SOURCE}/revisions/1/check", json={"text": text})
    assert response.status_code == 200
    found: dict[str, Json] = response.json()
    return found


async def test_a_passage_of_a_pdf_has_its_page_and_rectangles(world: World) -> None:
    first = PageLayout(
        box=(0, 0, 61200, 79200), rotation=0, lines=((0, 10, 1, 2, 3, 4), (11, 22, 5, 6, 7, 8))
    )
    last = PageLayout(box=(0, 0, 61200, 79200), rotation=0, lines=((24, 29, 100, 200, 300, 400),))
    await _publish(world, Layout(pages=(first, last)), pages=(0, 24))

    spanning, third = await _check(world, "line\nsecond"), await _check(world, "third")

    assert (spanning["page"], third["page"]) == (1, 2)
    assert spanning["rectangles"] == [
        {"page": 1, "left": 0.01, "bottom": 0.02, "right": 0.03, "top": 0.04},
        {"page": 1, "left": 0.05, "bottom": 0.06, "right": 0.07, "top": 0.08},
    ]
    assert third["cells"] is None


async def test_a_passage_of_a_workbook_has_its_cells(world: World) -> None:
    sheet = SheetLayout(name="Sums", cells=((0, 10, 0, 0, "text", "first line"),))
    await _publish(world, Layout(sheets=(sheet,)))

    found = await _check(world, "first")

    assert found["cells"] == [
        {"sheet": "Sums", "cell": "A1", "type": "text", "value": "first line"}
    ]
    assert (found["page"], found["rectangles"]) == (None, None)


async def test_a_passage_of_a_text_has_its_offsets_only(world: World) -> None:
    await _publish(world, None)

    found = await _check(world, "third")

    assert (found["verdict"], found["start"], found["end"]) == ("match", 24, 29)
    assert (found["page"], found["rectangles"], found["cells"]) == (None, None, None)


async def test_a_passage_that_is_not_there_has_no_place(world: World) -> None:
    await _publish(world, Layout(), pages=(0,))

    found = await _check(world, "fourth")

    assert (found["verdict"], found["page"], found["rectangles"]) == ("absent", None, None)


def token_of(tenant: str, principal: str) -> str:
    return build_token(tenant, principal, "c1", secret_for(KEY, "c1"))


@dataclass(slots=True)
class Reading:
    """Readers of blobs who are held until they may go on: how many there are, and were at most."""

    now: int = 0
    peak: int = 0
    go_on: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def reading(world: World, monkeypatch: pytest.MonkeyPatch) -> Reading:
    held = Reading()
    get = type(world.blobs).get

    async def watched(blobs: Receiving, tenant: str, sha256: str, *, limit: int) -> bytes:
        held.now += 1
        held.peak = max(held.peak, held.now)
        await held.go_on.wait()
        held.now -= 1
        return await get(blobs, "default", sha256, limit=limit)

    monkeypatch.setattr(type(world.blobs), "get", watched)
    return held


async def test_no_more_texts_are_looked_into_at_a_time_than_memory_is_meant_for(
    world: World, reading: Reading
) -> None:
    """Twenty checks of a large workbook took 800 MB; who sent more took all there was."""
    await _publish(world, None)
    callers = [("default", "ada"), ("default", "bo"), ("other", "ada"), ("other", "bo")]
    surface = world.surface()
    clients = [world.client(token_of(*each), surface) for each in callers]
    async with AsyncExitStack() as opened, asyncio.TaskGroup() as group:
        for client in clients:
            await opened.enter_async_context(client)
        checks = [
            group.create_task(client.post(f"{SOURCE}/revisions/1/check", json={"text": "third"}))
            for client in clients
            for _ in range(TEXTS_MAX)
        ]
        await eventually(lambda: reading.peak == TEXTS_MAX)
        reading.go_on.set()

    assert reading.peak == TEXTS_MAX
    assert {each.result().json()["verdict"] for each in checks} == {"match"}


async def test_a_flood_of_checks_by_one_caller_keeps_nobody_else_waiting(
    world: World, reading: Reading
) -> None:
    await _publish(world, None)
    surface = world.surface()
    flooding, other = world.client(TOKEN, surface), world.client(token_of("default", "bo"), surface)
    path, body = f"{SOURCE}/revisions/1/check", {"text": "third"}
    async with flooding, other, asyncio.TaskGroup() as group:
        flood = [group.create_task(flooding.post(path, json=body)) for _ in range(100)]
        await eventually(lambda: reading.now == TEXTS_OF_ONE_MAX)
        one = group.create_task(other.post(path, json=body))
        await eventually(lambda: reading.now == TEXTS_OF_ONE_MAX + 1)
        reading.go_on.set()
        first = await one
        waiting = sum(not each.done() for each in flood)

    assert first.json()["verdict"] == "match"
    assert waiting > 0
    assert {each.result().json()["verdict"] for each in flood} == {"match"}
