"""The same rows in another order: every aggregate that the gate accepts gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import Engine
from chancery.tabular.gate import gate
from chancery.tabular.grammar import AGGREGATES, ORDERED
from chancery.tabular.ordering import sort_rows
from chancery.tabular.plan import Plan, plan
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.values import canonical

SCHEMA = TableSchema(
    "t",
    (
        column_of("n", "BIGINT"),
        column_of("d", "DECIMAL(18,2)"),
        column_of("x", "DOUBLE"),
        column_of("w", "VARCHAR"),
        column_of("day", "DATE"),
        column_of("p", "BOOLEAN"),
    ),
)
ROWS = (
    "(1, 1.10, 1e16, 'a', DATE '2024-01-01', true)",
    "(2, 1.10, 1.0, 'b', DATE '2024-01-02', false)",
    "(1, 2.25, 1.0, 'c', DATE '2024-01-01', true)",
    "(2, 2.25, -1e16, 'b', DATE '2024-01-02', NULL)",
    "(3, 9.99, '-0.0'::DOUBLE, 'a', DATE '2024-01-03', true)",
    "(3, 9.98, 0.0, NULL, DATE '2024-01-03', false)",
    "(7, 0.01, 1e-3, 'd', NULL, false)",
    "(7, 5.00, 2.0, 'e', NULL, true)",
    "(NULL, NULL, NULL, 'd', NULL, NULL)",
)
PLACES = tuple(range(len(ROWS)))
ORDERS = (PLACES, PLACES[::-1], (1, 3, 0, 2, 5, 4, 8, 7, 6), (3, 0, 6, 1, 7, 8, 2, 5, 4))

SUMS = ("{}(n)", "{}(d)", "{}(x)", "{}(n / 3)", "{}(DISTINCT x)", "{}(x ORDER BY n)")
RANKS = ("{}(n)", "{}(d)", "{}(x)", "{}(day)", "1 / {}(x)", "{}(x)::VARCHAR")
SPREADS = ("{}(n)", "{}(d)", "{}(x)")
ANY = ("{}(n)", "{}(x)", "{}(w)", "{}(w ORDER BY n)", "{}(x::VARCHAR ORDER BY x)")
CALLS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sum", "avg", "mean"), SUMS),
    **dict.fromkeys(("min", "max"), (*RANKS, "{}(w)", "{}(w, 2)::VARCHAR")),
    "median": RANKS,
    "quantile_cont": ("{}(n, 0.3)", "{}(x, 0.3)", "{}(day, 0.3)::VARCHAR"),
    "quantile_disc": ("{}(n, 0.3)", "{}(x, 0.3)", "{}(w, 0.3)", "1 / {}(x, 0.5)"),
    **dict.fromkeys(
        ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), SPREADS
    ),
    "count": ("{}(*)", "{}(w)", "{}(DISTINCT x)"),
    "count_star": ("count(*)",),
    "count_if": ("{}(p)", "{}(x > 0)"),
    **dict.fromkeys(("bool_and", "bool_or"), ("{}(p)", "{}(x > 0)")),
    "string_agg": ("{}(w, ',')", "{}(w, ',' ORDER BY n)", "{}(DISTINCT w, ',')", "{}(x::VARCHAR)"),
    **dict.fromkeys(("any_value", "first", "last"), ANY),
    **dict.fromkeys(("arg_min", "arg_max"), ("{}(w, n)", "{}(x, n)", "{}(w, n ORDER BY d)")),
    "mode": ("{}(n)", "{}(w)", "{}(x)", "{}() WITHIN GROUP (ORDER BY w)"),
}
"""Each aggregate over the types that it takes; ties, NULLs and both zeros are in the rows."""

WHOLE = (
    "SELECT n, sum(x), string_agg(w, ',') FROM t GROUP BY n",
    "SELECT w, count(*) FROM t GROUP BY ALL",
    "SELECT w, sum(n) FROM t GROUP BY w LIMIT 2",
    "SELECT x, count(*) FROM t GROUP BY x HAVING 1 / min(x) > 0",
    "SELECT sum(n) FROM (SELECT n FROM t LIMIT 3)",
    "SELECT count(*) FROM (SELECT DISTINCT ON (n) w FROM t) s WHERE w = 'b'",
    "SELECT sum(r * n) FROM (SELECT n, row_number() OVER () AS r FROM t)",
    "SELECT n, sum(x) OVER (ORDER BY n ROWS 1 PRECEDING) FROM t",
    "SELECT sum(n) FROM (SELECT x AS n FROM t)",
    "SELECT sum(n) FROM (SELECT n FROM t UNION ALL SELECT x FROM t)",
    "SELECT sum(n) FROM (SELECT * REPLACE (x AS n) FROM t)",
    "WITH s AS (SELECT avg(x) AS m FROM t) SELECT w, (SELECT m FROM s) FROM t ORDER BY w, x, n",
    "SELECT sum(v) FROM (SELECT avg(n) AS v FROM t GROUP BY w)",
)
CASES = [
    f"SELECT {call.format(name)} FROM t" for name in sorted(CALLS) for call in CALLS[name]
] + list(WHOLE)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        yield opened


def results(
    engine: Engine, planned: Plan, orders: Sequence[Sequence[int]], *, sort: bool
) -> set[str]:
    """Return what a statement gives over the rows in each of some orders."""
    return {_result(engine, planned.query.canonical_sql, order, sort=sort) for order in orders}


def _result(engine: Engine, select: str, order: Sequence[int], *, sort: bool) -> str:
    columns = ", ".join(f"{each.name} {each.duckdb_type}" for each in SCHEMA.columns)
    engine.run(f"CREATE OR REPLACE TABLE t ({columns})")
    engine.run(f"INSERT INTO t VALUES {', '.join(ROWS[place] for place in order)}")
    if sort:
        sort_rows(engine)
    types = [duckdb_type for _, duckdb_type in engine.describe(select)]
    rows = engine.fetch(select, rows_max=100)
    return repr([[canonical(*each) for each in zip(r, types, strict=True)] for r in rows])


def accepted(sql: str) -> Plan | None:
    """Return the plan of a statement, or None when the order of rows is what it is refused for."""
    try:
        return plan(sql, [SCHEMA])
    except Rejected as refused:
        if refused.code != "sql_feature_row_order":
            raise
        return None


def test_every_aggregate_is_tried() -> None:
    assert set(CALLS) == AGGREGATES
    called = {name for name in CALLS for call in CALLS[name] if name in call.format(name)}
    assert called | {"count_star"} == AGGREGATES


@pytest.mark.req("CR-21", "CR-23")
@pytest.mark.parametrize("sql", CASES)
def test_rows_in_another_order_give_the_same_bytes_or_the_statement_is_refused(
    engine: Engine, sql: str
) -> None:
    planned = accepted(sql)
    if planned is None:
        assert any(f"{name}(" in sql for name in ORDERED)
        assert "ORDER BY" not in sql
        return

    assert len(results(engine, planned, ORDERS, sort=planned.sorts)) == 1


@given(st.permutations(PLACES), st.sampled_from(CASES))
def test_any_order_gives_what_the_first_gives(engine: Engine, order: list[int], sql: str) -> None:
    planned = accepted(sql)

    if planned is not None:
        assert len(results(engine, planned, (PLACES, order), sort=planned.sorts)) == 1


def test_without_sorting_these_do_depend_on_the_order(engine: Engine) -> None:
    """The control: the rows tell wrong judgements apart, for nearly every kind of them."""
    planned = [each for each in map(accepted, CASES) if each is not None and each.sorts]

    differing = {
        each.query.canonical_sql
        for each in planned
        if len(results(engine, each, ORDERS, sort=False)) > 1
    }

    text = " ".join(differing)
    names = ("sum(x)", "avg(x)", "stddev(x)", "any_value", "string_agg", "mode", "arg_max", "LIMIT")
    assert [name for name in names if name not in text.replace('"mode"', "mode")] == []
    assert len(differing) >= 30


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(n), avg(d), min(day), max(w), count(*) FROM t WHERE p",
        "SELECT max(x), median(x), count(DISTINCT x) FROM t",
        "SELECT * FROM t LIMIT 5",
        "SELECT n, row_number() OVER () FROM t",
        "SELECT n FROM t WHERE d > (SELECT avg(d) FROM t) LIMIT 5",
    ],
)
def test_what_needs_no_order_is_not_sorted(sql: str) -> None:
    """Sorting a million rows takes a tenth of a second, and rows are shown as they were sent."""
    assert not plan(sql, [SCHEMA]).sorts


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_first_and_last_need_an_order(name: str) -> None:
    with pytest.raises(Rejected) as refused:
        gate(f"SELECT {name}(n) FROM t")

    assert refused.value.code == "sql_feature_row_order"
    assert gate(f"SELECT {name}(n ORDER BY d) FROM t")
    assert gate(f"SELECT {name}(n) OVER (ORDER BY d) FROM t")


def test_equal_rows_are_sorted_by_how_they_are_written() -> None:
    with Engine() as engine:
        zeros = "unnest(['0', '-0', '0']::DOUBLE[])"
        engine.run(f'CREATE TABLE "rows of t" AS SELECT {zeros} AS "x y"')
        engine.run('CREATE VIEW t AS SELECT "x y" FROM "rows of t"')
        sort_rows(engine)

        assert engine.fetch("SELECT string_agg(\"x y\"::VARCHAR, ' ') FROM t", rows_max=1) == [
            ("-0.0 0.0 0.0",)
        ]
