"""A sealed value comes out again from the rows that a bundle carries, and from no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Corrupt, Rejected
from chancery.tabular.jobs import RowFilter, RowTable, Uncut
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.plan import plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.preview import form_of, value_at
from chancery.tabular.reexecute import reexecute
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.snapshot import convert_csv
from chancery.tabular.tree import as_object

CSV = b"""id,region,amount,weight,day,moment,paid
1,north,1250,0.10,2024-01-31,2024-01-31T10:00:00Z,true
2,south,2750,0.25,2024-02-29,2024-02-29T23:30:00+02:00,false
3,north,,12.00,,,
"""
STATEMENTS = [
    "select sum(amount) from orders",
    "select avg(weight) from orders where region = 'north'",
    "select count(*) from orders",
    "select count(*) from orders where paid = true",
    "select min(day), max(moment) from orders",
    "select * from orders",
]


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


def table_of(data: bytes, *, only: tuple[str, ...] | None = None, region: str = "") -> Uncut:
    made = convert_csv(data, {})
    columns = tuple(each for each in made.columns if only is None or each.name in only)
    filters = (RowFilter("region", (region,)),) if region else ()
    return Uncut(TableSchema("orders", columns), made.parquet, filters)


@pytest.mark.req("CR-22", "KO-4")
@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("region", ["", "north"])
async def test_carried_rows_give_the_sealed_preview_again(
    pool: WorkerPool, sql: str, region: str
) -> None:
    table = table_of(CSV, region=region)
    sealed = await pool.query(sql, [table])
    reads = plan(sql, [table.schema]).reads["orders"]

    carried = await pool.rows(table_of(CSV, only=reads, region=region))

    assert carried is not None
    assert reexecute(sealed.sql, [carried]) == sealed


async def test_one_changed_row_gives_another_value(pool: WorkerPool) -> None:
    sealed = await pool.query("select sum(amount) from orders", [table_of(CSV)])
    carried = await pool.rows(table_of(CSV, only=("amount",)))
    assert carried is not None

    changed = replace(carried, rows=(("1251",), *carried.rows[1:]))

    assert value_at(reexecute(sealed.sql, [carried]), 0, 0).value == "4000"
    assert value_at(reexecute(sealed.sql, [changed]), 0, 0).value == "4001"


@pytest.mark.req("CR-22", "KO-4")
@pytest.mark.parametrize("rows", [(), (("1",),)])
@pytest.mark.parametrize(
    "stated",
    [
        "BIGINT); INSERT INTO orders VALUES (3999); --",
        "BIGINT); CREATE OR REPLACE MACRO sum(x) AS 4000; --",
        "BIGINT DEFAULT 7",
        "VARCHAR COLLATE NOCASE",
        "STRUCT(a BIGINT)",
    ],
)
def test_what_a_bundle_calls_a_type_is_no_part_of_a_statement(
    stated: str, rows: tuple[tuple[str, ...], ...]
) -> None:
    sql = "SELECT count(amount) FROM orders"
    honest = RowTable(TableSchema("orders", (column_of("amount", "BIGINT"),)), rows)
    assert reexecute(sql, [honest]).rows == ((str(len(rows)),),)

    with pytest.raises(Corrupt) as refused:
        reexecute(sql, [RowTable(TableSchema("orders", (column_of("amount", stated),)), rows)])

    assert refused.value.code == "dataset_unreadable"


async def test_rows_beyond_what_a_bundle_carries_are_not_given(pool: WorkerPool) -> None:
    data = b"note\n" + (b"x" * 1_000 + b"\n") * 4_300

    assert await pool.rows(table_of(data)) is None
    assert await pool.rows(table_of(data[: len(data) // 2])) is not None


def test_a_carried_statement_passes_the_gate_like_any_other() -> None:
    rows = RowTable(TableSchema("orders", (column_of("amount", "BIGINT"),)), (("1",),))

    with pytest.raises(Rejected) as refused:
        reexecute("select * from read_csv('/etc/passwd')", [rows])
    with pytest.raises(Rejected) as unknown:
        reexecute("select * from invoices", [rows])

    assert refused.value.code == "sql_feature_table_function"
    assert unknown.value.code == "sql_unknown_table"


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.decimals(-1000, 1000, places=2), min_size=1, max_size=20), st.randoms())
def test_exact_aggregates_do_not_depend_on_the_order_of_rows(
    values: list[object], random: object
) -> None:
    schema = TableSchema("orders", (column_of("amount", "DECIMAL(18,2)"),))
    rows = tuple((f"{value:.2f}".replace("-0.00", "0.00"),) for value in values)
    sql = "select sum(amount), avg(amount), min(amount), max(amount), count(*) from orders"

    forward = reexecute(sql, [RowTable(schema, rows)])
    backward = reexecute(sql, [RowTable(schema, rows[::-1])])

    assert forward == backward


MEASURES = [
    Measure("m", aggregate, column, where=where)
    for aggregate, column in (
        ("sum", "amount"),
        ("sum", "weight"),
        ("avg", "amount"),
        ("avg", "weight"),
        ("min", "amount"),
        ("max", "moment"),
        ("min", "region"),
        ("count", "day"),
        ("count", None),
    )
    for where in ({}, {"region": "north"}, {"region": "it's nowhere"})
] + [
    Measure("m", "sum", "amount", where={"paid": True}),
    Measure("m", "sum", "amount", where={"day": "2024-02-29"}),
    Measure("m", "max", "amount", where={"weight": "0.10", "region": "north", "id": 1}),
]


@pytest.mark.req("CR-21", "KO-4", "XB-2")
@pytest.mark.parametrize("measure", MEASURES, ids=range(len(MEASURES)))
async def test_a_measure_is_proved_by_the_rows_that_it_read(
    pool: WorkerPool, measure: Measure
) -> None:
    table = table_of(CSV)
    statement = measure_statement(table.schema, measure)
    table = replace(table, declared=(statement.sql,))

    sealed, carried = await pool.query_with_rows(statement.sql, table)

    assert carried is not None
    form = form_of(as_object(parse_json(sealed.canonical())))
    again = reexecute(sealed.sql, [carried], form=form)
    assert again.canonical() == sealed.canonical()
    value = value_at(again, 0, 0)
    assert value.label == statement.label
    assert (" WHERE " in value.label) == bool(measure.where)
    assert {each.name for each in carried.schema.columns} == {
        name for name in (measure.column, *measure.where) if name is not None
    }


@pytest.mark.req("XB-4")
@pytest.mark.parametrize("aggregate", ["sum", "avg", "min", "max", "count"])
async def test_a_changed_row_disproves_every_aggregate(pool: WorkerPool, aggregate: str) -> None:
    """One row more below the least value and one field emptied change each of the five."""
    table = table_of(CSV)
    statement = measure_statement(table.schema, Measure("m", aggregate, "amount"))
    sealed, carried = await pool.query_with_rows(statement.sql, table)
    assert carried is not None

    changed = replace(carried, rows=(("-5",), ("9000",), *carried.rows))

    assert reexecute(sealed.sql, [carried]).preview_sha256 == sealed.preview_sha256
    assert reexecute(sealed.sql, [changed]).preview_sha256 != sealed.preview_sha256
