"""Values come out of DuckDB as they went in, and the same whatever the order and the threads."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine
from chancery.tabular.jobs import RowTable, Table
from chancery.tabular.plan import plan
from chancery.tabular.pool import WorkerPool
from chancery.tabular.schema import ColumnDeclaration, TableSchema, column_of
from chancery.tabular.snapshot import convert_csv, insertion
from chancery.tabular.values import canonical, display

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
CANONICAL: dict[str, st.SearchStrategy[str]] = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1).map(str),
    "HUGEINT": st.integers(-(2**127) + 1, 2**127 - 1).map(str),
    "DECIMAL(18,2)": st.integers(-(10**18) + 1, 10**18 - 1).map(
        lambda n: str(Decimal(n).scaleb(-2))
    ),
    "DECIMAL(38,9)": st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda n: f"{'-' if n < 0 else ''}{abs(n) // 10**9}.{abs(n) % 10**9:09d}"
    ),
    "DOUBLE": st.floats().map(lambda x: canonical(x, "DOUBLE") or ""),
    "BOOLEAN": st.sampled_from(["true", "false"]),
    "DATE": st.dates().map(lambda day: day.isoformat()),
    "TIMESTAMP": st.datetimes().map(lambda moment: moment.isoformat()),
    "TIMESTAMP WITH TIME ZONE": st.datetimes(
        min_value=datetime(1, 1, 3),  # noqa: DTZ001 - made aware below
        max_value=datetime(9999, 12, 29),  # noqa: DTZ001
    ).map(lambda moment: canonical(moment.replace(tzinfo=UTC), "TIMESTAMP WITH TIME ZONE") or ""),
    "VARCHAR": TEXTS,
}
BOUNDED = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        opened.run("SET TimeZone='UTC'")
        yield opened


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    async with WorkerPool() as opened:
        yield opened


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("duckdb_type", CANONICAL)
@BOUNDED
@given(data=st.data())
def test_a_canonical_text_survives_the_engine(
    engine: Engine, duckdb_type: str, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(st.none() | CANONICAL[duckdb_type], min_size=1, max_size=20))
    engine.run(f"CREATE OR REPLACE TABLE t (v {duckdb_type})")

    engine.run(insertion("t", [column_of("v", duckdb_type)]), [texts])

    rows = engine.fetch("SELECT v FROM t", rows_max=100)
    assert [canonical(row[0], duckdb_type) for row in rows] == texts


AGGREGATED = {
    "BIGINT": ("SUM", "AVG", "MIN", "MAX", "COUNT"),
    "DECIMAL(18,2)": ("SUM", "AVG", "MIN", "MAX", "COUNT"),
    "DOUBLE": ("MIN", "MAX", "COUNT"),
    "BOOLEAN": ("MIN", "MAX", "COUNT"),
    "DATE": ("MIN", "MAX", "COUNT"),
    "TIMESTAMP": ("MIN", "MAX", "COUNT"),
    "TIMESTAMP WITH TIME ZONE": ("MIN", "MAX", "COUNT"),
    "VARCHAR": ("MIN", "MAX", "COUNT"),
}
"""Every aggregate that an answer may state of a column of each type."""


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("duckdb_type", AGGREGATED)
@BOUNDED
@given(data=st.data())
def test_an_eligible_aggregate_does_not_depend_on_the_order_of_rows(
    engine: Engine, duckdb_type: str, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(st.none() | CANONICAL[duckdb_type], max_size=30))
    shuffled = data.draw(st.permutations(texts))
    names = AGGREGATED[duckdb_type]
    judged = _eligible(duckdb_type)

    one, other = (_aggregates(engine, duckdb_type, names, each) for each in (texts, shuffled))

    assert one == other
    assert judged == set(names)


def test_a_sum_of_doubles_does_depend_on_it_and_is_not_eligible(engine: Engine) -> None:
    """The control: the very difference that the rule keeps out of answers."""
    texts = ["1e+16", "1.0", "1.0", "-1e+16"]

    sums = {
        tuple(_aggregates(engine, "DOUBLE", ("SUM",), each))
        for each in (texts, [*reversed(texts)], ["1.0", "1e+16", "-1e+16", "1.0"])
    }

    assert len(sums) > 1
    assert not {"SUM", "AVG"} & _eligible("DOUBLE")


@pytest.mark.req("CR-21")
def test_more_threads_and_another_order_give_the_same_aggregates() -> None:
    """300,000 rows are several row groups, which threads take in any order."""
    found: set[str] = set()
    select = (
        "SELECT sum(n), avg(n), min(n), max(n), count(n), sum(d), avg(d), min(d), max(d),"
        " min(x), max(x), min(w), max(w), count(*) FROM t"
    )
    for threads, order in ((1, "i"), (4, "i"), (1, "-i"), (4, "hash(i)"), (3, "hash(i + 7)")):
        with Engine() as opened:
            opened.run(f"SET threads={threads}")
            opened.run(
                "CREATE TABLE t AS SELECT (hash(i) % 1000000007)::BIGINT * 1000003 AS n,"
                " ((hash(i + 1) % 100000000007)::BIGINT / 100)::DECIMAL(18,2) AS d,"
                " ((hash(i + 2) % 1009)::BIGINT - 500)::DOUBLE / 7 AS x,"
                f" hash(i + 3)::VARCHAR AS w FROM range(300000) r(i) ORDER BY {order}"
            )
            found.add(repr(opened.fetch(select, rows_max=1)))

    assert len(found) == 1


@pytest.mark.req("CR-21", "CR-22")
async def test_another_order_of_the_rows_gives_the_same_preview_from_a_process(
    pool: WorkerPool,
) -> None:
    """As snapshots and as the rows of a bundle; what does not aggregate shows the rows as sent."""
    rows = [b"1,1e16,a", b"2,1,b", b"1,1,c", b"2,-1e16,d"]
    declared = {"x": ColumnDeclaration("double")}
    files = [b"\n".join((b"n,x,w", *order)) for order in (rows, rows[::-1], sorted(rows))]
    made = [convert_csv(data, declared) for data in files]
    tables = [Table(TableSchema("t", each.columns), each.parquet) for each in made]
    asked = (
        "select sum(x), avg(x), stddev(n) from t",
        "select string_agg(w, ','), any_value(w), mode(n) from t",
        "select n, sum(x) from t group by n",
    )

    for sql in asked:
        found = [await pool.query_with_rows(sql, each) for each in tables]
        again = [await pool.query(sql, [each]) for _, each in found if each is not None]
        assert len({each.preview_sha256 for each in (*(one for one, _ in found), *again)}) == 1
        assert len(again) == len(tables)
    shown = [await pool.query("select w from t", [each]) for each in tables]
    assert [row[0] for row in shown[1].rows] == ["d", "c", "b", "a"]
    assert len({each.preview_sha256 for each in shown}) == 3


@pytest.mark.req("CR-22")
async def test_the_same_query_gives_the_same_bytes_from_any_process(pool: WorkerPool) -> None:
    data = b"g,n\n" + b"".join(b"%d,%d\n" % (n % 7, n) for n in range(1_000))
    made = convert_csv(data, {})
    table = Table(TableSchema("t", made.columns), made.parquet)
    asked = (
        "select * from t",
        "select g, sum(n), avg(n) from t group by g",
        "select distinct g from t",
        "select a.g, count(*) from t a join t b on a.n = b.g group by 1",
        "select g, n from t qualify row_number() over (partition by g order by n desc) = 1",
    )

    for sql in asked:
        hashes = {(await pool.query(sql, [table])).preview_sha256 for _ in range(3)}
        assert len(hashes) == 1, sql


@pytest.mark.req("CR-21")
async def test_null_empty_nan_infinity_nothing_and_zero_all_differ(pool: WorkerPool) -> None:
    made = RowTable(
        TableSchema("t", (column_of("s", "VARCHAR"), column_of("x", "DOUBLE"))),
        (("", "NaN"), (None, "Infinity"), ("0", "-Infinity"), ("x", None), ("y", "0.0")),
    )
    asked = (
        "select s, x from t",
        "select s from t where false",
        "select sum(x) from t where false",
        "select count(*) from t where false",
        "select min(s) from t",
    )

    shown = [(await pool.query(sql, [made])).rows for sql in asked]

    assert shown == [made.rows, (), ((None,),), (("0",),), (("",),)]
    assert [display(text, "DOUBLE") for text in (None, "NaN", "0.0")] == ["NULL", "NaN", "0.0"]


@pytest.mark.req("CR-21")
async def test_what_has_no_exact_form_is_refused_and_its_neighbours_are_not(
    pool: WorkerPool,
) -> None:
    refused = {
        "select interval 1 day": "sql_result_type",
        "select date '2024-01-02' - interval 1 day, to_days(3)": "sql_result_type",
        "select 'infinity'::date": "sql_result_value",
        "select 1, '-infinity'::timestamp": "sql_result_value",
        "select 'infinity'::timestamptz": "sql_result_value",
        "select '20000-01-01'::date": "sql_result_value",
        "select '0044-03-15 (BC)'::date": "sql_result_value",
    }
    exact = {
        "select '9999-12-31'::date, '0001-01-01'::date": (("9999-12-31", "0001-01-01"),),
        "select '2024-07-01 12:00:00+02'::timestamptz": (("2024-07-01T10:00:00Z",),),
        "select 9007199254740993, 9007199254740993 * 3": (
            ("9007199254740993", "27021597764222979"),
        ),
        "select 0.1 + 0.2, 1.10": (("0.3", "1.10"),),
        "select 'infinity'::double, 'nan'::double": (("Infinity", "NaN"),),
        "select ('infinity'::date)::varchar": (("infinity",),),
    }

    for sql, code in refused.items():
        with pytest.raises(Rejected) as caught:
            await pool.query(sql, [])
        assert caught.value.code == code, sql
    for sql, rows in exact.items():
        assert (await pool.query(sql, [])).rows == rows, sql


def test_a_wide_integer_is_never_a_float(engine: Engine) -> None:
    rng = random.Random(5)
    values = [str(rng.randrange(2**53, 2**63)) for _ in range(500)]

    (total,) = _aggregates(engine, "BIGINT", ("SUM",), values)

    assert total == str(sum(map(int, values)))
    assert int(total or "0") != int(math.fsum(map(float, values)))


def _aggregates(
    engine: Engine, duckdb_type: str, names: Sequence[str], texts: Sequence[str | None]
) -> list[str | None]:
    engine.run(f"CREATE OR REPLACE TABLE t (v {duckdb_type})")
    if texts:
        engine.run(insertion("t", [column_of("v", duckdb_type)]), [list(texts)])
    select = f"SELECT {', '.join(f'{name}(v)' for name in names)} FROM t"
    types = [each[1] for each in engine.describe(select)]
    (row,) = engine.fetch(select, rows_max=1)
    return [canonical(value, kind) for value, kind in zip(row, types, strict=True)]


def _eligible(duckdb_type: str) -> set[str]:
    schema = TableSchema("t", (column_of("v", duckdb_type),))
    return {
        name
        for name in ("SUM", "AVG", "MIN", "MAX", "COUNT")
        if plan(f"select {name}(v) from t", [schema]).eligibility.columns[0].eligible
    }
