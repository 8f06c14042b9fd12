"""Documents that an earlier build read stay as they are until something happens to them."""

from __future__ import annotations

import pytest

from chancery.extract import extraction as documents
from chancery.extract.docx import read_docx
from chancery.extract.extraction import Extraction, extractor_of
from chancery.extract.html import read_html
from chancery.extract.media import DOCX, HTML, PDF, XLSX
from chancery.extract.pdf import read_pdf
from chancery.extract.xlsx import read_xlsx
from chancery.release.domain.index_fold import IndexData, IndexEntry, evolve_entry
from tests.unit.extract.files import docx_file, paragraph, pdf_file, styles_of, xlsx_file
from tests.unit.indexing.test_refreshing import Desk, wish
from tests.unit.indexing.test_slowly import work_slowly
from tests.unit.indexing.world import SOURCE, World, declared_source

BOOK = xlsx_file({"S": '<row><c s="1"><v>0.05</v></c></row>'}, styles=styles_of("0%"))
LETTER = docx_file(
    f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>{paragraph('gone')}</w:tc></w:tr>"
    f"<w:tr><w:tc>{paragraph('kept')}</w:tc></w:tr></w:tbl>"
)
PAGE = b"<p style='font-size:0'>gone</p><p>kept</p>"
LEAF = pdf_file(b"BT /F1 9 Tf 12 TL 9 99 Td 3 Tr (gone) Tj T* 0 Tr (kept) Tj ET")
EARLIER = {
    PDF: "pdf/1+pypdfium2-5.0.0",
    XLSX: "xlsx/1+python-calamine-0.9.1",
    DOCX: "docx/1",
    HTML: "html/1+selectolax-0.3.34",
}
_TODAY = {each: extractor_of(each) for each in EARLIER}


def read(media_type: str, data: bytes) -> Extraction:
    """Read a document as today's build does, or as the one did that had the earlier identity."""
    identity = extractor_of(media_type)
    is_today = identity == _TODAY[media_type]
    if media_type in {DOCX, HTML}:
        text = read_docx(data) if media_type == DOCX else read_html(data)
        return Extraction(text if is_today else f"gone\n{text}", identity)
    if media_type == PDF:
        text, pages, layout = read_pdf(data)
        text = text if is_today else f"gone\n{text}"
        return Extraction(text, identity, pages, layout.to_bytes())
    text, layout = read_xlsx(data)
    text = text if is_today else text.replace("5%", "0.05")
    return Extraction(text, identity, layout=layout.to_bytes())


def entry_of(world: World) -> IndexEntry:
    """Return what release makes of everything that was said of the revision."""
    entry = None
    for number, event in world.index:
        assert isinstance(event.data, IndexData)
        entry = evolve_entry(entry, event.data, number)
    assert entry is not None
    return entry


async def text_of(world: World, extraction_sha256: str) -> str:
    return (await world.blobs.get(SOURCE.tenant, extraction_sha256, limit=1000)).decode()


def extracted_by_an_earlier_build(kind: str) -> str:
    """Name the extractor of a build that showed what nobody sees, or not as it is seen."""
    return EARLIER[kind]


@pytest.mark.req("CL-1", "CL-6")
@pytest.mark.parametrize(
    ("kind", "data", "earlier_text", "text"),
    [
        (XLSX, BOOK, "S\n0.05", "S\n5%"),
        (DOCX, LETTER, "gone\nkept", "kept"),
        (HTML, PAGE, "gone\nkept", "kept"),
        (PDF, LEAF, "gone\nkept", "kept"),
    ],
)
async def test_a_document_of_an_earlier_build_stays_what_it_was_until_it_is_refreshed(
    monkeypatch: pytest.MonkeyPatch, kind: str, data: bytes, earlier_text: str, text: str
) -> None:
    world = World(SOURCE, read=read)
    world.record(declared_source())
    with monkeypatch.context() as earlier:
        earlier.setattr(documents, "_identity", extracted_by_an_earlier_build)
        await world.handle(await world.publish(data, media_type=kind))
    before = entry_of(world)
    assert before.ready is not None
    assert await text_of(world, before.ready.extraction_sha256) == earlier_text

    await Desk(world).work(wish())
    await work_slowly(world)

    after = entry_of(world)
    assert after.ready is not None
    assert [each.extractor for each in after.extractions] == [EARLIER[kind], _TODAY[kind]]
    assert after.extractions[0] == before.ready
    assert after.ready == after.extractions[1]
    assert await text_of(world, after.ready.extraction_sha256) == text
    assert await text_of(world, before.ready.extraction_sha256) == earlier_text
