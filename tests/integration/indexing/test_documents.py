"""Indexing reads documents of every kind; what cannot be read fails alone, with its reason."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from chancery.events.authority import RevisionWithdrawn, SourceRestored
from chancery.events.codec import decode
from chancery.events.index import RevisionExtracted
from chancery.evidence.layout import Layout, rectangles
from chancery.evidence.manifest import Manifest, check_text
from chancery.extract.media import DOCX, HTML, PDF, PNG, XLSX
from chancery.indexing.app import Worker
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Log, Place, running
from tests.unit.extract.files import (
    docx_file,
    lines,
    locked_pdf,
    paragraph,
    pdf_file,
    slow_html,
    sparse_workbook,
    xlsx_file,
    zip_bomb,
)

pytestmark = pytest.mark.integration

_PICTURE = b"\x89PNG\r\n\x1a\n and so on"


@pytest.mark.req("CR-8")
async def test_a_pdf_has_its_pages_in_the_manifest_and_its_lines_beside_it(
    log: Log, worker: Worker
) -> None:
    ref = await log.declare()
    data = pdf_file(lines("Team Alpha owns", "service reviews."), lines("Second page."))
    event = await log.publish(ref, data, media_type=PDF)

    await worker.handle(event, await log.delivery(ref))

    assert await log.told(ref) == ["pending 1", "extracted 1", "ready 1"]
    told = decode((await log.index(ref))[1].payload).data
    assert isinstance(told, RevisionExtracted)
    manifest = Manifest.from_bytes(await log.blobs.get("acme", told.manifest_sha256, limit=10**6))
    text = (await log.blobs.get("acme", told.extraction_sha256, limit=10**6)).decode()
    check_text(manifest, text)
    quote = text.index("Second")
    assert [manifest.page(0), manifest.page(quote)] == [1, 2]
    assert manifest.layout_sha256 is not None
    stored = await log.blobs.get("acme", manifest.layout_sha256, limit=10**6)
    assert [each.page for each in rectangles(Layout.from_bytes(stored), quote, quote + 6)] == [2]


@pytest.mark.req("KO-3")
async def test_an_image_is_excluded_and_never_has_a_text(log: Log, worker: Worker) -> None:
    ref = await log.declare()
    event = await log.publish(ref, _PICTURE, media_type=PNG)
    delivery = await log.delivery(ref)

    await worker.handle(event, delivery)
    await worker.handle(await log.record(ref, RevisionWithdrawn()), delivery)
    await worker.handle(await log.record(ref, SourceRestored()), delivery)

    assert await log.told(ref) == ["excluded 1 no_text"]


@pytest.mark.req("KO-3")
async def test_an_image_that_was_withdrawn_before_it_was_seen_is_without_text_when_it_returns(
    log: Log, worker: Worker
) -> None:
    ref = await log.declare()
    event = await log.publish(ref, _PICTURE, media_type=PNG)
    withdrawal = await log.record(ref, RevisionWithdrawn())
    delivery = await log.delivery(ref)

    await worker.handle(event, delivery)
    await worker.handle(withdrawal, delivery)
    await worker.handle(await log.record(ref, SourceRestored()), delivery)

    assert await log.told(ref) == ["excluded 1 withdrawn", "excluded 1 no_text"]


def documents() -> dict[str, tuple[str, bytes, str]]:
    """Return documents by name: media type, bytes, and what is told of each in the end."""
    return {
        "hang": (HTML, slow_html(), "failed 1 timeout"),
        "bomb": (DOCX, zip_bomb(), "failed 1 zip_bomb"),
        "sparse": (XLSX, sparse_workbook(), "failed 1 resources"),
        "locked": (PDF, locked_pdf(), "failed 1 encrypted_pdf"),
        "cut": (PDF, pdf_file(lines("text"))[:-30], "failed 1 truncated_file"),
        "wrong": (PDF, docx_file(paragraph("text")), "failed 1 wrong_media_type"),
        "thick": (PDF, pdf_file(*[lines("a page")] * 2001), "failed 1 too_many_pages"),
        "book": (PDF, pdf_file(*[lines("a page")] * 2000), "ready 1"),
        "empty": (HTML, b" ", "failed 1 no_text"),
        "bytes": ("text/plain", b"\xff", "failed 1 invalid_utf8"),
        "pdf": (PDF, pdf_file(lines("some text")), "ready 1"),
        "docx": (DOCX, docx_file(paragraph("text")), "ready 1"),
        "xlsx": (XLSX, xlsx_file({"S": "<row><c><v>1</v></c></row>"}), "ready 1"),
        "html": (HTML, b"<p>text", "ready 1"),
        "text": ("text/plain", b"text", "ready 1"),
    }


@pytest.mark.req("EV-7")
async def test_bad_documents_fail_alone_while_good_ones_become_ready(
    log: Log, place: Place
) -> None:
    cases = documents()
    # What may take longer than a second is read by itself, and the book behind what hangs.
    long = {name: cases[name][2] for name in ("hang", "book")}
    expected = {name: state for name, (_, _, state) in cases.items() if name not in long}
    refs = {name: await log.declare(name) for name in cases}

    async def publish(name: str) -> None:
        media_type, data, _ = cases[name]
        await log.publish(refs[name], data, media_type=media_type)

    async def last(name: str) -> str:
        return (await log.told(refs[name]) or [""])[-1]

    async def states(wanted: Collection[str]) -> dict[str, str]:
        found = await asyncio.gather(*(last(name) for name in wanted))
        return dict(zip(wanted, found, strict=True))

    async def are_told(wanted: Collection[str]) -> bool:
        found = (await states(wanted)).values()
        return all(state.startswith(("ready", "failed")) for state in found)

    with running("indexing", place, CHANCERY_EXTRACTION_S="12"):
        # The first of all waits for the start of the processes besides.
        await publish("pdf")
        await eventually(lambda: are_told(["pdf"]), within_s=120)
        for name in cases:
            if name != "pdf":
                await publish(name)
        await eventually(lambda: are_told(expected), within_s=120)
        assert await states(expected) == expected
        assert await last("hang") == "pending 1"
        await eventually(lambda: are_told(long), within_s=240)
        assert await states(long) == long
