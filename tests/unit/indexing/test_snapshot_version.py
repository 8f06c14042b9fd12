"""A snapshot that another version of the conversions made stays until something happens to it."""

from __future__ import annotations

import pytest

from chancery.events.authority import Measure
from chancery.events.index import RevisionExtracted
from chancery.indexing.domain import standing
from chancery.indexing.domain.standing import DIFFERS, SNAPSHOT_VERSION
from chancery.indexing.domain.wishes import Wish
from chancery.tabular.formats import XLSX_TYPE
from chancery.tabular.snapshot import Snapshot, convert_xlsx
from tests.unit.indexing import world as worlds
from tests.unit.indexing.test_recovering import Shelf
from tests.unit.indexing.test_refreshing import Desk
from tests.unit.indexing.test_slowly import work_slowly
from tests.unit.indexing.world import DATASET, World, declared_dataset
from tests.unit.tabular.workbooks import workbook

BOOK = workbook([["id", "at"], [1, "date:45351.5"], [2, "date:45352"]])
EARLIER = "1"


def converted_earlier(data: bytes, declared: object) -> Snapshot:
    """Convert as a build did that took midnight for a day."""
    assert data == BOOK
    assert declared == {}
    return convert_xlsx(workbook([["id", "at"], [1, "date:45351"], [2, "date:45352"]]), {})


async def snapshot_of_an_earlier_build(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(ref=DATASET)
    world.record(declared_dataset())
    with monkeypatch.context() as earlier:
        earlier.setattr(standing, "SNAPSHOT_VERSION", EARLIER)
        earlier.setattr(worlds, "convert_xlsx", converted_earlier)
        await world.handle(await world.publish(BOOK, media_type=XLSX_TYPE))
    assert world.told()[-1] == "ready 1"
    return world


def extracted(world: World) -> list[RevisionExtracted]:
    return [e.data for _, e in world.index if isinstance(e.data, RevisionExtracted)]


@pytest.mark.req("CL-1", "CL-6")
async def test_it_is_converted_anew_when_its_dataset_is_declared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = await snapshot_of_an_earlier_build(monkeypatch)

    await world.handle(world.record(declared_dataset(Measure(name="rows", aggregate="count"))))
    await work_slowly(world)

    first, second = extracted(world)
    assert world.told()[-3:] == ["pending 1", "extracted 1", "ready 1"]
    assert first.extractor.startswith(f"xlsx/{EARLIER}+")
    assert second.extractor.startswith(f"xlsx/{SNAPSHOT_VERSION}+")
    assert first.extraction_sha256 != second.extraction_sha256
    assert await world.blobs.exists(DATASET.tenant, first.extraction_sha256)


@pytest.mark.req("CL-1")
@pytest.mark.parametrize(
    ("version", "told"),
    [(SNAPSHOT_VERSION, "ready 1"), (EARLIER, f"unavailable 1 {DIFFERS}")],
)
async def test_one_whose_parquet_is_lost_is_made_by_todays_conversion(
    monkeypatch: pytest.MonkeyPatch, version: str, told: str
) -> None:
    world = await snapshot_of_an_earlier_build(monkeypatch)
    (before,) = extracted(world)
    for name in [each for each in world.blobs.stored if each.endswith(before.extraction_sha256)]:
        del world.blobs.stored[name]
    monkeypatch.setattr(standing, "SNAPSHOT_VERSION", version)

    await Desk(world).work(Wish(DATASET, 1, "r1"))
    await work_slowly(world)
    await Shelf(Desk(world), {}).look()

    assert world.told()[-1] == told
