"""Where a hit stands in its document: lines on pages, cells in sheets, and how many of them."""

from __future__ import annotations

import pytest

from chancery.events.search import SearchHit, SearchKind, SearchResult, SearchRevision, SearchScope
from chancery.events.topology import query_subject
from chancery.evidence.layout import Cell, Layout, PageLayout, SheetLayout
from chancery.evidence.manifest import build_manifest
from chancery.extract.media import PDF, XLSX
from chancery.gateway.domain.searches import CELL_CHARACTERS_MAX, HIT_PLACES_MAX
from chancery.gateway.handlers import searching
from chancery.kernel.canonical import Json, sha256_hex
from chancery.store.blobs import missing
from tests.unit.gateway.fakes import World

TEXT = "first line\nsecond line\n" + "1\n" * 150
PAGES = Layout(
    pages=(
        PageLayout(box=(0, 0, 61200, 79200), rotation=0, lines=((0, 10, 100, 200, 300, 400),)),
        PageLayout(box=(0, 0, 61200, 79200), rotation=0, lines=((11, 22, 500, 600, 700, 800),)),
    )
)
FIRST = {"page": 1, "left": 1.0, "bottom": 2.0, "right": 3.0, "top": 4.0}
SECOND = {"page": 2, "left": 5.0, "bottom": 6.0, "right": 7.0, "top": 8.0}


async def _search(
    world: World, media_type: str, layout: Layout | None, hit: tuple[int, int], kind: SearchKind
) -> dict[str, Json]:
    """Return the only hit of a search in a document that has this layout."""
    layout_sha256 = None
    if layout is not None:
        layout_sha256 = await world.blobs.put("default", layout.to_bytes())
    manifest = build_manifest(
        "k",
        1,
        content_sha256="0" * 64,
        extractor="x/1",
        text=TEXT,
        pages=(0, 11) if media_type == PDF else (),
        layout_sha256=layout_sha256,
    )
    revision = SearchRevision(
        kind=kind,
        key="k",
        id="s",
        title="T",
        revision=1,
        media_type=media_type,
        state="ready",
        index_sequence=7,
        extraction_sha256=await world.blobs.put("default", TEXT.encode()),
        manifest_sha256=await world.blobs.put("default", manifest.to_bytes()),
    )
    found = SearchHit(key="k", start=hit[0], end=hit[1])
    world.owners.answers |= {
        query_subject("release", "search-scope"): SearchScope(checkpoint=5, revisions=(revision,)),
        query_subject("retrieval", "search"): SearchResult(
            hits=(found,), index_position=9, unconfirmed=()
        ),
    }
    async with world.client() as client:
        response = await client.post("/v1/workspaces/w/search", json={"query": "line"})
    assert response.status_code == 200, response.text
    (told,) = response.json()["hits"]
    shown: dict[str, Json] = told
    return shown


@pytest.mark.parametrize("kind", ["source", "file"])
@pytest.mark.parametrize(
    ("start", "end", "page", "places"),
    [
        (0, 5, 1, [FIRST]),
        (11, 17, 2, [SECOND]),
        (6, 17, 1, [FIRST, SECOND]),
        (10, 11, 1, []),
    ],
)
async def test_a_hit_of_a_pdf_has_its_page_and_the_lines_that_it_touches(
    kind: SearchKind, start: int, end: int, page: int, places: list[Json]
) -> None:
    found = await _search(World(), PDF, PAGES, (start, end), kind)

    assert (found["page"], found["rectangles"], found["cells"]) == (page, places, None)


@pytest.mark.parametrize("stored", [None, b"no layout"])
async def test_a_layout_that_is_lost_or_damaged_costs_the_places_and_not_the_search(
    stored: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    get = world.blobs.get
    lost = sha256_hex(PAGES.to_bytes())

    async def some(tenant: str, sha256: str, *, limit: int) -> bytes:
        if sha256 != lost:
            return await get(tenant, sha256, limit=limit)
        if stored is None:
            raise missing(sha256)
        return stored

    monkeypatch.setattr(type(world.blobs), "get", staticmethod(some))

    found = await _search(world, PDF, PAGES, (0, 5), "source")

    assert (found["page"], found["rectangles"], found["excerpt"]) == (1, None, "first")


async def test_a_hit_of_a_workbook_has_its_cells_and_long_values_only_in_its_excerpt() -> None:
    long = "9" * (CELL_CHARACTERS_MAX + 1)
    cells: tuple[Cell, ...] = ((0, 10, 0, 0, "text", long), (11, 22, 6, 27, "number", "7"))
    layout = Layout(sheets=(SheetLayout(name="Halls", cells=cells),))

    found = await _search(World(), XLSX, layout, (4, 15), "source")

    assert (found["page"], found["rectangles"]) == (None, None)
    assert found["cells"] == [
        {"sheet": "Halls", "cell": "A1", "type": "text", "value": None},
        {"sheet": "Halls", "cell": "AB7", "type": "number", "value": "7"},
    ]


async def test_of_a_hit_in_very_many_cells_the_first_ones_are_told() -> None:
    cells: tuple[Cell, ...] = tuple(
        (23 + 2 * row, 24 + 2 * row, row, 0, "number", "1") for row in range(150)
    )
    layout = Layout(sheets=(SheetLayout(name="Halls", cells=cells),))

    found = await _search(World(), XLSX, layout, (0, len(TEXT)), "source")

    assert isinstance(found["cells"], list)
    names = [each["cell"] for each in found["cells"] if isinstance(each, dict)]
    assert names == [f"A{row + 1}" for row in range(HIT_PLACES_MAX)]


async def test_a_document_with_too_many_places_is_found_by_its_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(searching, "HIT_LAYOUT_BYTES_MAX", len(PAGES.to_bytes()) - 1)

    found = await _search(World(), PDF, PAGES, (0, 5), "source")

    assert (found["page"], found["rectangles"]) == (1, None)


async def test_a_pdf_that_has_no_layout_has_its_page() -> None:
    found = await _search(World(), PDF, None, (0, 5), "source")

    assert (found["page"], found["rectangles"]) == (1, None)
