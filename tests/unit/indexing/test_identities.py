"""Workbooks that an earlier build read stay as they are until something happens to them."""

from __future__ import annotations

import pytest

from chancery.extract import extraction as documents
from chancery.extract.extraction import Extraction, extractor_of
from chancery.extract.media import XLSX
from chancery.extract.xlsx import read_xlsx
from chancery.release.domain.index_fold import IndexData, IndexEntry, evolve_entry
from tests.unit.extract.files import styles_of, xlsx_file
from tests.unit.indexing.test_refreshing import Desk, wish
from tests.unit.indexing.test_slowly import work_slowly
from tests.unit.indexing.world import SOURCE, World, declared_source

BOOK = xlsx_file({"S": '<row><c s="1"><v>0.05</v></c></row>'}, styles=styles_of("0%"))
EARLIER = "xlsx/1+python-calamine-0.9.1"
_today = extractor_of(XLSX)


def read(media_type: str, data: bytes) -> Extraction:
    """Read a workbook as today's build does, or as one did that knew no number formats."""
    identity = extractor_of(media_type)
    text, layout = read_xlsx(data)
    text = text if identity == _today else text.replace("5%", "0.05")
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


def extracted_by_an_earlier_build(_kind: str) -> str:
    """Name the extractor of a build that knew no number formats."""
    return EARLIER


@pytest.mark.req("CL-1", "CL-6")
async def test_a_workbook_of_an_earlier_build_stays_what_it_was_until_it_is_refreshed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(SOURCE, read=read)
    world.record(declared_source())
    with monkeypatch.context() as earlier:
        earlier.setattr(documents, "_identity", extracted_by_an_earlier_build)
        await world.handle(await world.publish(BOOK, media_type=XLSX))
    before = entry_of(world)
    assert before.ready is not None
    assert await text_of(world, before.ready.extraction_sha256) == "S\n0.05"

    await Desk(world).work(wish())
    await work_slowly(world)

    after = entry_of(world)
    assert after.ready is not None
    assert [each.extractor for each in after.extractions] == [EARLIER, extractor_of(XLSX)]
    assert after.extractions[0] == before.ready
    assert after.ready == after.extractions[1]
    assert await text_of(world, after.ready.extraction_sha256) == "S\n5%"
    assert await text_of(world, before.ready.extraction_sha256) == "S\n0.05"
