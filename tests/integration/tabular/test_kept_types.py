"""A snapshot with a column of any type that Parquet has can be queried under any policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine
from chancery.tabular.jobs import RowFilter, Uncut
from chancery.tabular.parquet import convert_parquet
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import TableSchema

TYPES = {
    "time": "TIME '10:00:00'",
    "timetz": "TIMETZ '10:00:00+01'",
    "blob": "'a'::BLOB",
    "interval": "INTERVAL 1 DAY",
    "bit": "'101'::BIT",
    "struct": "{'a': 1}",
    "map": "map([1], [2])",
    "list": "[1]",
    "variant": "1::VARIANT",
    "geometry": "'POINT(1 2)'::GEOMETRY",
    "located": "'POINT(1 2)'::GEOMETRY('OGC:CRS83')",
    "geometries": "['POINT(1 2)'::GEOMETRY]",
    "uhugeint": "1::UHUGEINT",
    "nothing": "NULL",
    "time_ns": "'10:00:00'::TIME_NS",
    "enum": "'a'::ENUM('a')",
    "uuid": "'4c2cd4e3-0d2a-4c19-a000-000000000000'::UUID",
    "json": "'{}'::JSON",
    "moments": "[TIMESTAMP_NS '2024-01-01']",
}
POLICIES = {"all": None, "one": ("1",), "without_a_value": ("2",), "no_row": ("9",)}


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


def parquet(select: str, folder: Path) -> bytes:
    """Return a Parquet file of what a SELECT gives."""
    file = folder / "made.parquet"
    with Engine() as engine:
        engine.run("SET TimeZone='UTC'")
        engine.run(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    return file.read_bytes()


@pytest.mark.req("CR-27")
async def test_a_column_of_any_type_leaves_the_others_to_be_queried_under_any_policy(
    pool: WorkerPool, tmp_path: Path
) -> None:
    names = ", ".join(f"{value} AS {name}" for name, value in TYPES.items())
    empty = ", ".join("NULL" for _ in TYPES)
    data = parquet(f"SELECT 1 AS id, {names} UNION ALL SELECT 2, {empty}", tmp_path)
    snapshot = convert_parquet(data, {})
    schema = TableSchema("t", snapshot.columns)

    found: dict[str, tuple[str | None, ...]] = {}
    for policy, allowed in POLICIES.items():
        filters = () if allowed is None else (RowFilter("id", allowed),)
        uncut = Uncut(schema, snapshot.parquet, filters, is_whole=allowed is None)
        sql = "SELECT sum(id), count(geometry), min(geometry::VARCHAR) FROM t"
        found[policy] = (await pool.query(sql, [uncut])).rows[0]
        assert (await pool.statistics(uncut)).columns[0].name == "id"

    assert found == {
        "all": ("3", "1", "POINT (1 2)"),
        "one": ("1", "1", "POINT (1 2)"),
        "without_a_value": ("2", "0", None),
        "no_row": (None, "0", None),
    }


def test_a_column_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    data = bytearray(parquet("SELECT range AS id, 'x' || range AS note FROM range(999)", tmp_path))
    with Engine() as engine:
        select = f"SELECT data_page_offset FROM parquet_metadata('{tmp_path / 'made.parquet'}')"
        _, (page,) = engine.fetch(select, rows_max=9)
    assert convert_parquet(bytes(data), {}).row_count == 999
    assert isinstance(page, int)
    data[page : page + 8] = b"\xff" * 8

    with pytest.raises(Rejected) as refused:
        convert_parquet(bytes(data), {})

    assert (refused.value.code, refused.value.field) == ("parquet_unreadable", "columns.note")
