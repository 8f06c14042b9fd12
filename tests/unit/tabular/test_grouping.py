"""Grouping sets are counted before DuckDB's parser writes them out, and as it would make them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Rejected
from chancery.tabular.engine import parser
from chancery.tabular.gate import SQL_BYTES_MAX, gate
from chancery.tabular.grouping import SETS_MAX, grouping_sets
from chancery.tabular.tree import as_items, objects_within

LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIFTEEN = f"SELECT a FROM t GROUP BY CUBE({','.join(LETTERS[:15])})"


def many(select: str) -> str:
    times = SQL_BYTES_MAX // (len(select) + len(" UNION ALL "))
    return " UNION ALL ".join([select] * times)


@pytest.mark.req("CR-23")
@pytest.mark.parametrize(
    "sql",
    [
        FIFTEEN,
        many(FIFTEEN),
        many("SELECT a FROM t GROUP BY CUBE(a,b,c)"),
        f"SELECT a FROM t GROUP BY rollup({','.join(['a'] * 3900)})",
        "SELECT a FROM t GROUP BY " + ",".join(["GROUPING SETS((a),(b))"] * 15),
        f"SELECT a FROM t GROUP BY GROUPING /* */ SETS({','.join(['CUBE(a,b,c,d)'] * 17)})",
        "WITH x AS (SELECT a FROM t GROUP BY CUBE(a,b,c,d,e,f,g,h)) SELECT a FROM x GROUP BY a",
        "SELECT 'CUBE(' FROM t GROUP BY CUBE(')', a, b, c, d, e, f, g, h)",
    ],
    ids=range(8),
)
def test_too_many_grouping_sets_are_refused_at_once(sql: str) -> None:
    began = time.process_time()

    with pytest.raises(Rejected) as refused:
        gate(sql)

    assert refused.value.code == "sql_too_complex"
    assert time.process_time() - began < 5  # The second took a minute and 1.8 GB.


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a FROM t GROUP BY CUBE({','.join(LETTERS[:8])})",
        "SELECT a FROM t GROUP BY ROLLUP(a, (b, c), d)",
        " UNION ALL ".join(["SELECT a FROM t GROUP BY CUBE(a,b,c)"] * 20),
        "SELECT cube, 'CUBE(a,b,c,d,e,f,g,h,i)' AS sets FROM t",
        'SELECT a FROM t GROUP BY a, "rollup"',
    ],
    ids=range(5),
)
def test_usual_grouping_sets_pass(sql: str) -> None:
    assert gate(gate(sql).canonical_sql) == gate(sql)


NAME = st.sampled_from(["a", "b", "(a, b)", "()", '"cube"', "',('", "d /* CUBE(a,b), */"])
PLAIN = st.sampled_from(["a", "b", "(a, b)", '"rollup"', "', CUBE('"])
CUBE = st.lists(PLAIN, min_size=1, max_size=4).map(lambda names: f"cube ({','.join(names)})")
ROLLUP = st.lists(PLAIN, min_size=1, max_size=4).map(lambda names: f"ROLLUP({', '.join(names)})")
SETS = st.recursive(
    NAME | CUBE | ROLLUP,
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda each: f"GROUPING -- (,\n SETS({','.join(each)})"
    ),
    max_leaves=6,
)


def select(where: str, sets: list[str], last: str) -> str:
    return f"SELECT a FROM t WHERE a IN ({where}) GROUP BY {','.join(sets)}, ({last})"


SELECT = st.recursive(
    st.just("SELECT a FROM t"),
    lambda inner: st.builds(select, inner, st.lists(SETS, min_size=1, max_size=2), inner),
    max_leaves=3,
)


def made(sql: str) -> int:
    """Return how many grouping sets DuckDB's own parser makes."""
    rows = parser().fetch("SELECT json_serialize_sql($1::VARCHAR)", [sql], rows_max=1)
    tree: Json = parse_json(str(rows[0][0]))
    found = (each.get("group_sets") for each in objects_within(tree))
    return sum(len(as_items(each)) for each in found if each is not None)


@settings(max_examples=150, deadline=None)
@given(st.lists(SELECT, min_size=1, max_size=2).map(" UNION ".join))
def test_they_are_counted_as_the_parser_makes_them(sql: str) -> None:
    counted, exact = grouping_sets(sql), made(sql)

    assert counted == exact or min(counted, exact) > SETS_MAX
