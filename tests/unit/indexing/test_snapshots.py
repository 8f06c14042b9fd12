"""What indexing makes of a dataset: Parquet, schema and one proven card per declared measure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from chancery.events import authority
from chancery.events.authority import Measure
from chancery.events.index import RevisionExtracted, RevisionFailed, RevisionReady
from chancery.evidence.manifest import DatasetManifest
from chancery.indexing.handlers.fairly import Fairly
from chancery.tabular.formats import XLSX_TYPE
from chancery.tabular.snapshot import convert_xlsx
from chancery.testkit.waiting import eventually
from tests.unit.indexing.world import DATASET, World, declared_dataset
from tests.unit.tabular.workbooks import workbook

_CSV = b"id,amount,region\n1,1250.00,north\n2,2750.00,south\n"
_TOTAL = Measure(name="total", aggregate="sum", column="amount", synonyms=("revenue",))
_COUNT = Measure(name="orders", aggregate="count")


async def _dataset(
    *measures: Measure, csv: bytes = _CSV, types: Mapping[str, str] | None = None
) -> World:
    world = World(ref=DATASET)
    world.record(declared_dataset(*measures, types=types))
    await world.handle(await world.publish(csv, media_type="text/csv"))
    return world


async def _manifest(world: World) -> DatasetManifest:
    ready = world.last(RevisionReady)
    assert isinstance(ready, RevisionReady)
    data = await world.blobs.get("acme", ready.manifest_sha256, limit=10**6)
    return DatasetManifest.from_bytes(data)


@pytest.mark.req("KO-3")
async def test_a_snapshot_gets_a_schema_and_a_card_per_measure() -> None:
    world = await _dataset(_TOTAL, _COUNT)

    manifest = await _manifest(world)

    assert world.told() == ["pending 1", "extracted 1", "ready 1"]
    assert manifest.rows == 2
    assert [name for name, _ in manifest.columns] == ["id", "amount", "region"]
    assert dict(manifest.columns)["amount"].startswith("DECIMAL")
    assert [card.label for card in manifest.cards] == ["SUM(orders.amount)", "COUNT(*)"]
    assert manifest.cards[0].synonyms == ("revenue",)


async def test_the_parquet_is_stored_before_an_event_names_it() -> None:
    world = await _dataset(_TOTAL)

    told = world.last(RevisionExtracted)
    assert isinstance(told, RevisionExtracted)

    assert (await world.blobs.get("acme", told.extraction_sha256, limit=10**7))[:4] == b"PAR1"
    assert told.length == 2


@pytest.mark.req("KO-3")
async def test_a_workbook_and_a_parquet_file_become_the_same_table() -> None:
    sheet = workbook([["id", "amount", "region"], [1, 1250, "north"], [2, 2750, "south"]])
    made = convert_xlsx(sheet, {})
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for media_type, data in ((XLSX_TYPE, sheet), ("application/parquet", made.parquet)):
        world = World(ref=DATASET)
        world.record(declared_dataset(_TOTAL))
        await world.handle(await world.publish(data, media_type=media_type))
        manifest = await _manifest(world)
        found[manifest.extractor.partition("+")[0]] = manifest.columns
        assert [card.label for card in manifest.cards] == ["SUM(orders.amount)"]

    assert set(found) == {"xlsx/2", "parquet/2"}
    assert found["xlsx/2"] == found["parquet/2"]


@pytest.mark.req("CR-27")
@pytest.mark.parametrize(
    ("hidden", "filtered"), [(("amont",), ()), ((), ("area",)), (("id.x",), ())]
)
async def test_a_policy_on_a_column_that_is_not_there_keeps_the_snapshot_out(
    hidden: tuple[str, ...], filtered: tuple[str, ...]
) -> None:
    """A slip in a name would otherwise show the column that it meant to hide."""
    world = World(ref=DATASET)
    world.record(declared_dataset(_TOTAL, hidden=hidden, filtered=filtered))
    await world.handle(await world.publish(_CSV, media_type="text/csv"))
    assert world.told() == ["pending 1", "failed 1 policy_column_missing"]
    failed = world.last(RevisionFailed)
    assert isinstance(failed, RevisionFailed)
    assert failed.field == (f"columns.{hidden[0]}" if hidden else "row_filters.0.column")

    await world.handle(world.record(declared_dataset(_TOTAL, hidden=("Amount",))))

    assert world.told()[-1] == "ready 1"


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        (Measure(name="m", aggregate="sum", column="cost"), "measure_column_missing"),
        (
            Measure(name="m", aggregate="sum", column="amount", where={"city": "Bonn"}),
            "measure_column_missing",
        ),
        (Measure(name="m", aggregate="sum", column="region"), "invalid_measure"),
    ],
)
async def test_a_measure_that_does_not_fit_fails_the_snapshot(
    measure: Measure, reason: str
) -> None:
    world = await _dataset(_TOTAL, measure)

    assert world.told() == ["pending 1", f"failed 1 {reason}"]


async def test_declaring_fitting_measures_afterwards_heals_the_snapshot() -> None:
    world = await _dataset(Measure(name="m", aggregate="sum", column="cost"))

    await world.handle(world.record(declared_dataset(_TOTAL)))

    assert world.told()[-3:] == ["pending 1", "extracted 1", "ready 1"]


async def test_other_measures_make_other_cards_over_the_same_rows() -> None:
    world = await _dataset(_TOTAL)
    before = await _manifest(world)

    await world.handle(world.record(declared_dataset(_COUNT)))

    after = await _manifest(world)
    assert world.told()[3:] == ["pending 1", "extracted 1", "ready 1"]
    assert [card.name for card in after.cards] == ["orders"]
    assert after.extraction_sha256 == before.extraction_sha256
    assert after.extractor != before.extractor
    assert world.conversions == 1


async def test_a_lost_manifest_of_the_old_measures_is_no_obstacle() -> None:
    world = await _dataset(_TOTAL)
    ready = world.last(RevisionReady)
    assert isinstance(ready, RevisionReady)
    del world.blobs.stored[f"acme/{ready.manifest_sha256}"]

    await world.handle(world.record(declared_dataset(_COUNT)))

    assert [card.name for card in (await _manifest(world)).cards] == ["orders"]
    assert world.conversions == 2


async def test_going_back_to_the_old_measures_names_the_old_manifest_again() -> None:
    world = await _dataset(_TOTAL)
    before = await _manifest(world)

    await world.handle(world.record(declared_dataset(_COUNT)))
    await world.handle(world.record(declared_dataset(_TOTAL)))

    assert await _manifest(world) == before
    assert world.told()[-1] == "ready 1"


async def test_the_same_measures_declared_again_change_nothing() -> None:
    world = await _dataset(_TOTAL)
    before = world.told()

    await world.handle(world.record(declared_dataset(_TOTAL)))

    assert world.told() == before


async def test_other_column_types_convert_the_rows_again() -> None:
    world = await _dataset(_COUNT)

    await world.handle(world.record(declared_dataset(_COUNT, types={"id": "text"})))

    assert dict((await _manifest(world)).columns)["id"] == "VARCHAR"
    assert world.conversions == 2


@pytest.mark.parametrize(
    ("csv", "media_type", "reason"),
    [
        (b"a,b\n1\n", "text/csv", "csv_ragged_row"),
        (b"a,a\n1,2\n", "text/csv", "csv_duplicate_column"),
        (b"PAR1", "application/vnd.apache.parquet", "parquet_unreadable"),
        (b"PK", XLSX_TYPE, "xlsx_unreadable"),
        (b"a\tb\n", "text/tab-separated-values", "unsupported_media_type"),
    ],
)
async def test_a_file_that_is_no_table_fails_with_its_code(
    csv: bytes, media_type: str, reason: str
) -> None:
    world = World(ref=DATASET)
    world.record(declared_dataset(_COUNT))

    await world.handle(await world.publish(csv, media_type=media_type))

    assert world.told() == ["pending 1", f"failed 1 {reason}"]


async def test_a_withdrawn_dataset_is_excluded_until_it_is_published_again() -> None:
    world = await _dataset(_TOTAL)

    await world.handle(world.record(authority.DatasetWithdrawn()))
    withdrawn = world.told()[-1]
    await world.handle(await world.publish(_CSV, media_type="text/csv"))

    assert withdrawn == "excluded 1 withdrawn"
    assert world.standings() == {1: "excluded", 2: "ready"}


@pytest.mark.parametrize(
    ("types", "hidden", "measures", "field"),
    [
        ({"region": "integer"}, (), (), "columns.region.type"),
        ({}, ("amont",), (), "columns.amont"),
        ({}, (), (_COUNT.model_copy(update={"column": "sum"}),), "measures.orders"),
    ],
)
async def test_a_failure_names_what_of_the_declaration_to_change(
    types: dict[str, str], hidden: tuple[str, ...], measures: tuple[Measure, ...], field: str
) -> None:
    world = World(ref=DATASET)
    world.record(declared_dataset(*measures, types=types, hidden=hidden))
    await world.handle(await world.publish(_CSV, media_type="text/csv"))

    failed = world.last(RevisionFailed)
    assert isinstance(failed, RevisionFailed)
    assert failed.field == field


@pytest.mark.req("CL-1")
async def test_snapshots_of_which_too_many_wait_are_pending_and_converted_by_themselves() -> None:
    world = World(ref=DATASET, turns=Fairly(waiting_max=8))
    world.record(declared_dataset(_TOTAL))
    publications = world.publications
    snapshots = [
        await world.publish(b"%s%d,5,north\n" % (_CSV, n), media_type="text/csv") for n in range(5)
    ]

    async with asyncio.TaskGroup() as group:
        async with world.turns.turn("other"):
            for each in snapshots:
                group.create_task(publications.handle(DATASET, each))
            await eventually(lambda: len(world.slow) == 3)
            assert world.conversions == 0
        running = group.create_task(publications.slowly.run())
        await eventually(lambda: world.told().count("ready 5") and not world.slow)
        running.cancel()

    assert world.conversions == 5
    assert sorted(each for each in world.told() if each.startswith("extracted")) == [
        f"extracted {n}" for n in range(1, 6)
    ]
