"""A refusal says which name is unknown: the one that was sent, bounded and on one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.plan import plan
from chancery.tabular.refusals import NAME_CHARACTERS_MAX, TEXTS, unknown_name
from chancery.tabular.schema import TableSchema, column_of

ORDERS = TableSchema("orders", (column_of("id", "BIGINT"), column_of("amount", "BIGINT")))
CUSTOMERS = TableSchema("customers", (column_of("id", "BIGINT"), column_of("name", "VARCHAR")))

pytestmark = pytest.mark.req("CR-23", "CR-27")


@pytest.mark.parametrize(
    ("sql", "code", "told"),
    [
        ("select Cost from orders", "sql_unknown_column", '"Cost"'),
        ("select o.COST from orders o", "sql_unknown_column", '"COST"'),
        ("select sum(cost) from orders", "sql_unknown_column", '"cost"'),
        ("select id from orders where cost > 1", "sql_unknown_column", '"cost"'),
        ("select id from orders order by cost", "sql_unknown_column", '"cost"'),
        ("select (select max(zip) from customers) from orders", "sql_unknown_column", '"zip"'),
        ('select "two words" from orders', "sql_unknown_column", '"two words"'),
        ("select amount from Invoices", "sql_unknown_table", '"Invoices"'),
        ("select * from 'file:///etc/passwd'", "sql_unknown_table", '"file:///etc/passwd"'),
    ],
)
def test_a_refusal_says_which_name_is_unknown(sql: str, code: str, told: str) -> None:
    with pytest.raises(Rejected) as refused:
        plan(sql, [ORDERS, CUSTOMERS])

    assert (refused.value.code, refused.value.field) == (code, "sql")
    assert refused.value.detail == f"{TEXTS[code]}: {told}"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a\nb", '"a\\nb"'),
        ("a\\nb", '"a\\\\nb"'),
        ('say "x"', '"say ""x"""'),
        ("left\u202eright", '"left\\u202eright"'),
        ("\x1b[31mred", '"\\x1b[31mred"'),
        ("größe", '"größe"'),
        ("n" * 64, f'"{"n" * 64}"'),
        ("n" * 65, f'"{"n" * 64}"…'),
    ],
)
def test_a_name_is_told_quoted_on_one_line_and_in_bounds(name: str, told: str) -> None:
    assert unknown_name("sql_unknown_column", name).detail.endswith(f" do not have: {told}")


@given(st.text())
def test_no_name_makes_a_text_long_or_a_line_more(name: str) -> None:
    told = unknown_name("sql_unknown_table", name).detail

    assert told.isprintable()
    assert len(told) <= len(TEXTS["sql_unknown_table"]) + 10 * NAME_CHARACTERS_MAX + 5


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select Getenv('HOME')", '"getenv"'),
        ("select pi() from orders", '"pi"'),
        (f"select {'f' * 70}(1)", f'"{"f" * 64}"…'),
        ('select "two\u202ewords"(1)', '"two\\u202ewords"'),
        ("select ntile_of(3) over (order by id) from orders", '"ntile_of"'),
    ],
)
def test_a_refusal_says_which_function_is_not_allowed(sql: str, told: str) -> None:
    with pytest.raises(Rejected) as refused:
        plan(sql, [ORDERS])

    assert (refused.value.code, refused.value.field) == ("sql_feature_function", "sql")
    assert f"not allowed: function {told}; docs/sql.md lists" in refused.value.detail


def test_a_refusal_repeats_nothing_else_of_the_statement() -> None:
    for sql in (
        "select amount, 'secretive' from orders where amount = cost",
        "select getenv('secretive')",
        "select amount as secretive, cost from orders",
    ):
        with pytest.raises(Rejected) as refused:
            plan(sql, [ORDERS])

        assert "secretive" not in refused.value.detail


@pytest.mark.parametrize("column", ["user", "author"])
@pytest.mark.parametrize(
    ("sql", "remedied"),
    [
        (
            "SELECT id AS user, count(*) AS n FROM t GROUP BY user ORDER BY user",
            "SELECT id AS who, count(*) AS n FROM t GROUP BY who ORDER BY who",
        ),
        ("SELECT id AS user FROM t ORDER BY user", "SELECT id AS who FROM t ORDER BY who"),
        (
            "SELECT user FROM (SELECT id AS user FROM t) q",
            "SELECT q.user FROM (SELECT id AS user FROM t) q",
        ),
        ("SELECT id FROM t LIMIT (user)", "SELECT id FROM t LIMIT 5"),
    ],
)
def test_an_alias_that_the_engine_takes_for_a_session_value_is_told_so_with_the_remedy(
    sql: str, remedied: str, column: str
) -> None:
    table = TableSchema("t", (column_of("id", "BIGINT"), column_of(column, "BIGINT")))

    assert plan(remedied, [table]).reads == {"t": ("id",)}
    with pytest.raises(Rejected) as refused:
        plan(sql, [table])

    assert refused.value.code == "sql_unknown_column"
    assert refused.value.detail == (
        'sql names "user", which the engine takes for the clock or the session there;'
        " give the alias another name, or write the column with its table"
    )
