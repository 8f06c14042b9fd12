"""What policy hides is not in the process of a statement: a snapshot is cut in another one."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psutil
import pytest

from chancery.events.queries import PinnedRevision
from chancery.evidence.manifest import DatasetManifest
from chancery.execution.handlers.cuts import Cuts
from chancery.execution.handlers.material import PinnedTable, Reading
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt, Rejected, TooLarge
from chancery.tabular.jobs import Limits, RowFilter, Table, Uncut
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema
from chancery.tabular.snapshot import Snapshot, convert_csv
from chancery.testkit.blobs import MemoryBlobs
from chancery.testkit.waiting import eventually
from tests.integration.tabular.scanning import SCANS, memory_holds
from tests.integration.tabular.test_statistics import made_of

ROWS = 3_000
SHOWN, HIDDEN, FILTERED, REGION = b"VISIBLE-CELL", b"HIDDEN-CELL", b"FILTERED-CELL", b"REGION-NAME"
SLOW = "select count(*) from staff a, staff b, staff c where a.name || b.name < c.name"
COUNT = "select count(*), min(name), max(name) from staff"
NORTH, SOUTH = "REGION-NAME-NORTH", "REGION-NAME-SOUTH"

Filters = tuple[tuple[str, tuple[str | int | bool, ...]], ...]


def staff() -> Snapshot:
    """Return rows whose hidden cells stand in the footer's least and greatest values, too."""
    lines: list[bytes] = []
    for n in range(ROWS):
        name, region = (SHOWN, NORTH) if n % 2 else (FILTERED, SOUTH)
        cells = (n, name, n, HIDDEN, n * 7919 % 1_000_000, region.encode())
        lines.append(b"%d,%s-%06d,%s-%06d,%s\n" % cells)
    return convert_csv(b"id,name,secret,region\n" + b"".join(lines), {})


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored snapshot, and what reads it as execution does."""

    snapshot: Snapshot
    reading: Reading
    extraction_sha256: str
    manifest_sha256: str

    async def held(self, *, hidden: tuple[str, ...] = (), filters: Filters = ()) -> Table:
        """Return what goes on to the process of a statement under a policy."""
        pinned = PinnedRevision(
            kind="dataset",
            key="k",
            id="staff",
            title="Staff",
            revision=1,
            content_sha256="a" * 64,
            media_type="text/csv",
            size_bytes=1,
            state="ready",
            hidden_columns=hidden,
            row_filters=filters,
        )
        wanted = PinnedTable(pinned, self.extraction_sha256, self.manifest_sha256)
        async with self.reading.tables("acme", [wanted]) as (table,):
            return table


@dataclass(slots=True)
class Counting:
    """Counts the cuts that a pool makes."""

    pool: WorkerPool
    made: int = 0

    async def cut(self, uncut: Uncut, *, bytes_max: int) -> Table:
        """Cut, and count that."""
        self.made += 1
        return await self.pool.cut(uncut, bytes_max=bytes_max)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return staff()


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool(Limits(query_s=60.0), concurrency=1) as opened:
        yield opened


@pytest.fixture
def cutter(pool: WorkerPool) -> Counting:
    return Counting(pool)


@pytest.fixture
async def stored(snapshot: Snapshot, cutter: Counting) -> Stored:
    blobs = MemoryBlobs()
    extraction = await blobs.put("acme", snapshot.parquet)
    manifest = DatasetManifest(
        key="k",
        snapshot=1,
        content_sha256=sha256_hex(b"staff"),
        extraction_sha256=extraction,
        extractor="csv/1",
        rows=ROWS,
        columns=tuple((each.name, each.duckdb_type) for each in snapshot.columns),
        cards=(),
    )
    manifest_sha256 = await blobs.put("acme", manifest.to_bytes())
    return Stored(snapshot, Reading(blobs, Cuts(cutter)), extraction, manifest_sha256)


@SCANS
@pytest.mark.req("CR-27", "KO-3")
async def test_nothing_that_policy_hides_is_in_the_process_of_a_statement(
    pool: WorkerPool, stored: Stored
) -> None:
    """The scan finds what is shown, in the same process and at the same moment."""
    restricted = await stored.held(hidden=("secret", "region"), filters=(("region", (NORTH,)),))
    whole = await stored.held()

    assert await _found_while_running(pool, restricted) == {SHOWN}
    assert await _found_while_running(pool, whole) >= {SHOWN, FILTERED, HIDDEN}


async def _found_while_running(pool: WorkerPool, table: Table) -> frozenset[bytes]:
    """Return which of the cells stand in the memory of a process that runs a statement."""
    pid = await eventually(lambda: pool.spare_pid)
    assert pid is not None
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(pool.query(SLOW, [table]))
        try:
            process = psutil.Process(pid)
            await eventually(lambda: SHOWN in memory_holds(pid, SHOWN))
            spent = process.cpu_times().user
            await eventually(lambda: process.cpu_times().user > spent + 0.2)
            found = memory_holds(pid, SHOWN, HIDDEN, FILTERED, REGION)
            assert not asked.done()
        finally:
            asked.cancel()
    return found


@pytest.mark.req("CR-27")
async def test_another_policy_gives_another_cut(
    pool: WorkerPool, stored: Stored, cutter: Counting
) -> None:
    async def count(*regions: str) -> tuple[str | None, ...]:
        table = await stored.held(hidden=("secret",), filters=(("region", regions),))
        return (await pool.query(COUNT, [table])).rows[0]

    north, south, both = await count(NORTH), await count(SOUTH), await count(NORTH, SOUTH)
    again = await count(NORTH)
    nobody = await count("no such region")

    half = str(ROWS // 2)
    assert north == again == (half, "VISIBLE-CELL-000001", "VISIBLE-CELL-002999")
    assert south == (half, "FILTERED-CELL-000000", "FILTERED-CELL-002998")
    assert (both[0], nobody) == (str(ROWS), ("0", None, None))
    assert cutter.made == 4


@pytest.mark.req("KO-3")
async def test_sixteen_at_once_make_one_cut_and_a_whole_snapshot_makes_none(
    pool: WorkerPool, stored: Stored, cutter: Counting
) -> None:
    whole = await stored.held(hidden=("no such column",))
    assert (cutter.made, whole.parquet) == (0, stored.snapshot.parquet)

    tables = await asyncio.gather(*(stored.held(hidden=("secret",)) for _ in range(16)))
    answers = [(await pool.query(COUNT, [table])).rows[0][0] for table in tables[:2]]

    assert cutter.made == 1
    assert {len(table.parquet) for table in tables} == {len(tables[0].parquet)}
    assert answers == [str(ROWS)] * 2


@pytest.mark.req("KO-3")
async def test_a_cutting_process_that_dies_fails_only_the_statement_that_waits_for_it(
    pool: WorkerPool, stored: Stored
) -> None:
    pid = await _stopped(pool)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(_code(stored))
        await eventually(lambda: pool.spare_pid != pid)
        second = group.create_task(_code(stored))
        os.kill(pid, signal.SIGKILL)

    assert (first.result(), second.result()) == ("sql_resources", "cut")


async def test_a_cut_ends_with_the_statement_that_is_given_up(
    pool: WorkerPool, stored: Stored
) -> None:
    pid = await _stopped(pool)
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(stored.held(hidden=("secret",)))
        await eventually(lambda: pool.spare_pid != pid)
        asked.cancel()

    await eventually(lambda: not psutil.pid_exists(pid))
    assert (await pool.query(COUNT, [await stored.held(hidden=("secret",))])).rows[0][0] == "3000"


async def _stopped(pool: WorkerPool) -> int:
    """Stop the process that comes next, so that its job is never done."""
    pid = await eventually(lambda: pool.spare_pid)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    return pid


async def _code(stored: Stored) -> str:
    try:
        await stored.held(hidden=("secret",))
    except Rejected as refused:
        return refused.code
    return "cut"


async def test_a_cut_larger_than_it_may_be_is_refused_with_a_code(
    pool: WorkerPool, snapshot: Snapshot
) -> None:
    uncut = Uncut(TableSchema("staff", snapshot.columns[:2]), snapshot.parquet)
    size_bytes = len((await pool.cut(uncut)).parquet)

    with pytest.raises(TooLarge) as refused:
        await pool.cut(uncut, bytes_max=size_bytes - 1)

    assert refused.value.code == "sql_input_too_large"
    assert len((await pool.cut(uncut, bytes_max=size_bytes)).parquet) == size_bytes


@pytest.mark.req("CR-27")
async def test_a_table_with_more_columns_than_it_shows_never_runs(
    pool: WorkerPool, snapshot: Snapshot
) -> None:
    more = Table(TableSchema("staff", snapshot.columns[:2]), snapshot.parquet)
    calls = (pool.query(COUNT, [more]), pool.statistics(more), pool.rows(more))

    for call in calls:
        with pytest.raises(Corrupt) as refused:
            await call
        assert refused.value.code == "dataset_unreadable"
    exact = Table(TableSchema("staff", snapshot.columns), snapshot.parquet)
    assert (await pool.query(COUNT, [exact])).rows[0][0] == str(ROWS)


@pytest.mark.req("KO-4", "CR-22")
async def test_a_cut_keeps_types_values_and_the_order_of_rows(pool: WorkerPool) -> None:
    select = (
        "SELECT (i * 7919 % 1000)::BIGINT AS a, i::UBIGINT + 18446744073709550000::UBIGINT AS b,"
        " (i / 7)::DOUBLE AS c, (i * 1.5)::DECIMAL(38,9) AS d, i::UTINYINT AS e,"
        " DATE '0001-01-01' + i::INTEGER AS f, TIMESTAMP '2024-01-01 00:00:00.000001' AS g,"
        " TIMESTAMPTZ '2024-01-01 00:00:00+02' AS h, i % 2 = 0 AS j,"
        " CASE WHEN i % 3 > 0 THEN 'é' || i ELSE '' END AS k, NULL::VARCHAR AS l,"
        " [i] AS m, {'x': i} AS n, TIME '10:00' AS o, 'a'::BLOB AS p, i AS hidden"
        " FROM range(200) r(i)"
    )
    made = convert_parquet(made_of(select).parquet, {})
    visible = tuple(each for each in made.columns if each.name != "hidden")
    cut = await pool.cut(Uncut(TableSchema("t", visible), made.parquet))
    names = ", ".join(each.name for each in visible if each.type != "other")

    whole = Table(TableSchema("t", made.columns), made.parquet)
    again = convert_parquet(cut.parquet, {})

    assert again.columns == visible
    assert len(visible) == 15
    for sql in (f"select {names} from t", f"select {names}, m::text, n::text, p::text from t"):
        assert (await pool.query(sql, [cut])).rows == (await pool.query(sql, [whole])).rows


@pytest.mark.req("CR-27")
async def test_of_a_snapshot_without_visible_columns_rows_are_counted(
    pool: WorkerPool, snapshot: Snapshot
) -> None:
    north = RowFilter("REGION", (NORTH,))
    uncut = Uncut(TableSchema("staff", ()), snapshot.parquet, (north,))

    counted = await pool.query("select count(*) from staff", [uncut])
    summary = await pool.statistics(uncut)

    assert counted.rows == ((str(ROWS // 2),),)
    assert (summary.rows, summary.columns) == (ROWS // 2, ())
    with pytest.raises(Rejected) as refused:
        await pool.query("select region from staff", [uncut])
    assert refused.value.code == "sql_unknown_column"


async def test_a_filter_means_the_stored_column_whatever_the_case_of_its_letters(
    pool: WorkerPool,
) -> None:
    kept = convert_csv("é,n\na,1\nb,2\n".encode(), {})
    schema = TableSchema("t", kept.columns)

    made = await pool.cut(Uncut(schema, kept.parquet, (RowFilter("É", ("a",)),)))

    assert (await pool.query("select n from t", [made])).rows == (("1",),)
