"""Statistics of visible columns over authorised rows: exact, bounded, and silent about the rest."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator

import pytest

from chancery.kernel.errors import Corrupt
from chancery.tabular.engine import Engine
from chancery.tabular.jobs import Limits, RowFilter, Table, Uncut
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import Column, TableSchema, column_of
from chancery.tabular.snapshot import convert_csv
from chancery.tabular.statistics import ColumnStatistics

CSV = b"""id,region,amount,day,moment,paid
9007199254740993,north,1250.50,2024-02-29,2024-02-29T23:30:00+02:00,true
-7,south,2750.00,2024-01-31,,true
0,north,,,,
"""


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


@pytest.fixture
def orders() -> Table:
    made = convert_csv(CSV, {})
    return Table(TableSchema("orders", made.columns), made.parquet)


def made_of(select: str, *columns: Column) -> Table:
    """Return a table of what DuckDB selects."""
    with Engine() as engine, tempfile.TemporaryFile() as file:
        target = f"/dev/fd/{file.fileno()}"
        engine.run(f"COPY ({select}) TO '{target}' (FORMAT parquet, USE_TMP_FILE false)")
        file.seek(0)
        return Table(TableSchema("orders", columns), file.read())


@pytest.mark.req("CR-22", "KO-4")
async def test_each_value_is_told_in_its_exact_text(pool: WorkerPool, orders: Table) -> None:
    found = await pool.statistics(orders)

    assert found.rows == 3
    assert found.columns == (
        ColumnStatistics("id", 3, 0, "-7", "9007199254740993", 3),
        ColumnStatistics("region", 3, 0, "north", "south", 2),
        ColumnStatistics("amount", 2, 1, "1250.50", "2750.00", 2),
        ColumnStatistics("day", 2, 1, "2024-01-31", "2024-02-29", 2),
        ColumnStatistics("moment", 1, 2, "2024-02-29T21:30:00Z", "2024-02-29T21:30:00Z", 1),
        ColumnStatistics("paid", 2, 1, "true", "true", 1),
    )


@pytest.mark.req("CR-27")
async def test_hidden_columns_and_rows_leave_no_trace(pool: WorkerPool, orders: Table) -> None:
    """Not even in what a visible column holds; the filter's own column may be hidden."""
    visible = tuple(each for each in orders.schema.columns if each.name in {"id", "amount"})
    schema = TableSchema("orders", visible)

    north = await pool.statistics(Uncut(schema, orders.parquet, (RowFilter("region", ("north",)),)))
    nothing = await pool.statistics(Uncut(schema, orders.parquet, (RowFilter("region", ()),)))

    assert north.rows == 2
    assert north.columns == (
        ColumnStatistics("id", 2, 0, "0", "9007199254740993", 2),
        ColumnStatistics("amount", 1, 1, "1250.50", "1250.50", 1),
    )
    assert nothing.columns == (
        ColumnStatistics("id", 0, 0, None, None, 0),
        ColumnStatistics("amount", 0, 0, None, None, 0),
    )


async def test_what_no_preview_carries_has_no_bounds(pool: WorkerPool) -> None:
    table = made_of(
        "SELECT [1, 2] AS tags, repeat('x', 201) AS note, 'nan'::DOUBLE AS weight",
        column_of("tags", "INTEGER[]"),
        column_of("note", "VARCHAR"),
        column_of("weight", "DOUBLE"),
    )

    tags, note, weight = (await pool.statistics(table)).columns

    assert tags == ColumnStatistics("tags", 1, 0, None, None, None)
    assert note == ColumnStatistics("note", 1, 0, None, None, 1)
    assert weight == ColumnStatistics("weight", 1, 0, "NaN", "NaN", 1)


async def test_a_wide_table_is_told_whole(pool: WorkerPool) -> None:
    selected = ", ".join(f"range + {n} AS c{n}" for n in range(300))
    columns = (column_of(f"c{n}", "BIGINT") for n in range(300))

    found = await pool.statistics(made_of(f"SELECT {selected} FROM range(10)", *columns))

    assert [each.minimum for each in found.columns] == [str(n) for n in range(300)]
    assert {each.count for each in found.columns} == {10}


async def test_distinct_values_that_take_too_much_are_not_counted() -> None:
    """Everything that the first pass found stays."""
    table = made_of(
        "SELECT range AS id, hash(range)::VARCHAR || repeat('y', 50) AS word FROM range(1000000)",
        column_of("id", "BIGINT"),
        column_of("word", "VARCHAR"),
    )
    async with WorkerPool(Limits(memory_bytes=32 * 1024 * 1024)) as narrow:
        found = await narrow.statistics(table)

    assert (found.columns[1].count, found.columns[1].distinct) == (1_000_000, None)


async def test_a_snapshot_that_lacks_a_column_is_no_table(pool: WorkerPool, orders: Table) -> None:
    lacking = Table(TableSchema("orders", (column_of("nought", "BIGINT"),)), orders.parquet)

    with pytest.raises(Corrupt):
        await pool.statistics(lacking)
