"""What the parser writes out for CASE is counted before it does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.canonical import parse_json
from chancery.kernel.errors import Rejected
from chancery.tabular.copies import TOKENS_MAX, tokens_made
from chancery.tabular.engine import parser
from chancery.tabular.gate import gate
from chancery.tabular.grouping import grouping_sets
from chancery.tabular.tree import objects_within

pytestmark = pytest.mark.req("CR-23")

ARM = "WHEN 1THEN 2"


def nested(depth: int, arm: str = ARM) -> str:
    expression = "a"
    for _ in range(depth):
        expression = f"CASE {expression} {arm}{arm} END"
    return f"SELECT {expression} FROM t"


def case(operand: str, tested: list[str]) -> str:
    arms = " ".join(f"WHEN {each} THEN 2" for each in tested)
    return f"CASE {operand} {arms} END"


def columns_made(sql: str) -> int:
    """Return how many references to columns DuckDB's own parser makes."""
    rows = parser().fetch("SELECT json_serialize_sql($1::VARCHAR)", [sql], rows_max=1)
    tree = parse_json(str(rows[0][0]))
    return sum(each.get("class") == "COLUMN_REF" for each in objects_within(tree))


@pytest.mark.parametrize("depth", [12, 16, 28])
@pytest.mark.parametrize("arm", [ARM, " when\u00a01 then 2 ", "/* */WHEN(1)THEN(2)"])
def test_operands_that_double_are_refused_before_they_are_written_out(depth: int, arm: str) -> None:
    with pytest.raises(Rejected) as refused:
        gate(nested(depth, arm))

    assert refused.value.code == "sql_too_complex"


@pytest.mark.parametrize(
    "sql",
    [
        nested(3),
        "SELECT CASE a WHEN 1 THEN 'case' WHEN 2 THEN 'when' ELSE 'end' END FROM t",
        f"SELECT CASE {' '.join(f'WHEN a = {n} THEN {n}' for n in range(100))} END FROM t",
        f"SELECT CASE a {' '.join(f'WHEN {n} THEN {n}' for n in range(100))} END FROM t",
        'SELECT "case" FROM t',
    ],
    ids=range(5),
)
def test_a_usual_case_stays_well_below_the_bound(sql: str) -> None:
    assert tokens_made(sql) < TOKENS_MAX / 4


def test_the_parser_writes_an_operand_out_for_each_when() -> None:
    """The control: this is what is counted."""
    assert [columns_made(nested(depth)) for depth in (1, 2, 3, 6)] == [2, 4, 8, 64]


@given(
    st.recursive(
        st.sampled_from(["a", "1"]),
        lambda inner: st.builds(case, inner, st.lists(inner, min_size=1, max_size=4)),
        max_leaves=12,
    )
)
def test_the_parser_makes_no_more_than_was_counted(expression: str) -> None:
    sql = f"SELECT {expression} FROM t"

    assert columns_made(sql) <= tokens_made(sql)


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2003", "\ufeff", "\u202f", "\u200b"])
@pytest.mark.parametrize(
    "sql", ["GROUP{}BY CUBE(a,b)", "GROUP BY{}CUBE(a,b)", "GROUP BY CUBE{}(a,b)"]
)
def test_a_space_of_unicode_hides_no_grouping_sets(sql: str, space: str) -> None:
    assert grouping_sets(f"SELECT 1 FROM t {sql.format(space)}") == 4
