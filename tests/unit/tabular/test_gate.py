"""The gate: one plain SELECT passes, in DuckDB's own words; nothing else does."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.kernel.errors import Rejected
from chancery.tabular.gate import NESTING_MARKS_MAX, SQL_BYTES_MAX, gate
from chancery.tabular.grammar import FEATURES
from chancery.tabular.refusals import feature_code

PASSED = [
    "SELECT amount FROM orders",
    "from orders select amount",
    "select * from orders where region = 'north' and amount > 10 order by id desc limit 3 offset 1",
    "select region, sum(amount) from orders group by region having count(*) > 1",
    "select o.amount + 1, upper(o.region) from orders o left join customers c using (id)",
    "with x as (select amount from orders) select max(amount) from x",
    "select amount from orders where id in (select id from customers)",
    "select rank() over (partition by region order by amount) from orders",
    "select id from orders union all select id from customers",
    "select case when amount > 5 then 'high' else 'low' end from orders",
    "select cast(amount as decimal(10, 2)), try_cast(region as date) from orders",
    "select date_trunc('month', day), count(distinct region) from orders group by 1",
    'select "amount" from "Orders"; ',
    "select amount -- a note\n from orders /* another */",
]


@pytest.mark.req("CR-21", "CR-23")
@pytest.mark.parametrize("sql", PASSED)
def test_a_plain_select_passes_and_its_canonical_text_is_stable(sql: str) -> None:
    gated = gate(sql)

    assert gate(gated.canonical_sql) == gated
    assert gate(gated.canonical_sql).tree_json == gated.tree_json


REFUSED = [
    ("", "sql_empty"),
    (" ; -- nothing", "sql_empty"),
    ("select 1; select 2", "sql_not_one_statement"),
    ("select 1;; select amount from orders", "sql_not_one_statement"),
    ("delete from orders", "sql_statement_not_select"),
    ("insert into orders values (1)", "sql_statement_not_select"),
    ("update orders set amount = 0", "sql_statement_not_select"),
    ("copy orders to 'x.csv'", "sql_statement_not_select"),
    ("attach ':memory:' as m", "sql_statement_not_select"),
    ("set threads = 1", "sql_statement_not_select"),
    ("explain select 1", "sql_statement_not_select"),
    ("create table x as select 1", "sql_statement_not_select"),
    ("pivot orders on region", "sql_statement_not_select"),
    ("selec 1", "sql_syntax"),
    ("select amount from orders where", "sql_syntax"),
    ("select '\x00'", "sql_not_text"),
    ("select '\x07'", "sql_not_text"),
    ("select '\ud800'", "sql_not_text"),
    ("select '" + "x" * SQL_BYTES_MAX + "'", "sql_too_long"),
    ("select " + "(" * (NESTING_MARKS_MAX + 1), "sql_too_complex"),
    ("select " + "(" * 200 + "1" + " + 1)" * 200, "sql_too_complex"),
    ("select " + "case when true then " * 300 + "1" + " end" * 300, "sql_too_complex"),
    ("select " + ",".join(["amount+1"] * 900) + " from orders", "sql_too_complex"),
]


@pytest.mark.parametrize(("sql", "code"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_single_select_is_refused_with_its_code(sql: str, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        gate(sql)

    assert (refused.value.code, refused.value.field) == (code, "sql")


FORBIDDEN = [
    ("with x as (delete from orders returning *) select * from x", "data-modifying statement"),
    ("with x as (insert into orders select 1 returning *) table x", "data-modifying statement"),
    ("with x as (update orders set a = 1 returning *) table x", "data-modifying statement"),
    ("with x as (copy orders to 'x') select * from x", "data-modifying statement"),
    ("select secret from orders as x(a, secret)", "column alias list"),
    ("select b from (select * from orders) as x(z, b)", "column alias list"),
    ("with x(a) as (select 1) select a from x", "column alias list"),
    ("with recursive r as (select 1 as n union all select n + 1 from r) from r", "recursive query"),
    ("select * from (select a from t) pivot (count(a) for b in ('x'))", "pivot"),
    ("select * from t unpivot (v for n in (a))", "pivot"),
    ("select columns('a.*') from t", "columns()"),
    ("select a from t order by all", "star outside the select list"),
    ("select count(t.*) from t", "star outside the select list"),
    ("select #1 from t", "positional reference"),
    ("select $1", "parameter"),
    ("select * from read_csv('/etc/passwd')", "table function"),
    ("select * from range(3)", "table function"),
    ("select * from query_table('t')", "table function"),
    ("select * from (values (1)) v", "values list"),
    ("select * from main.t", "schema-qualified name"),
    ("select * from a.b.t", "schema-qualified name"),
    ("select main.upper('x')", "schema-qualified name"),
    ("select a.b.c from t", "nested column"),
    ("describe t", "show"),
    ("select * from (show tables)", "show"),
    ("select a from t using sample 10%", "sample"),
    ("select a from t tablesample 10%", "sample"),
    ("select a from t at (version => 1)", "at"),
    ("select list_transform(a, lambda x: x + 1) from t", "function"),
    ("select getenv('HOME')", "function"),
    ("select getvariable('x')", "function"),
    ("select error('x')", "function"),
    ("select random()", "function"),
    ("select now()", "function"),
    ("select json_execute_serialized_sql('x')", "function"),
    ("select round(a := 1) from t", "named argument"),
    ("select a[1] from t", "operator"),
    ("select a collate nocase from t", "collation"),
    ("select '\\x41'::blob", "type"),
    ("select * from a natural join b", "join kind"),
    ("select * from a positional join b", "join kind"),
    ("select * rename (a as b) from t", "rename"),
]


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("sql", "feature"), FORBIDDEN)
def test_a_feature_off_the_list_is_refused_by_its_name(sql: str, feature: str) -> None:
    with pytest.raises(Rejected) as refused:
        gate(sql)

    assert refused.value.code == feature_code(feature)
    assert f"not allowed: {feature}" in refused.value.detail
    assert feature in FEATURES.values()


def test_a_refusal_repeats_nothing_of_the_statement() -> None:
    for sql in (
        "select now('secretive')",
        "select 'secretive' from",
        "select x.secretive.y.z from x",
    ):
        with pytest.raises(Rejected) as refused:
            gate(sql)

        assert "secretive" not in str(refused.value.detail)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("sql", "outside"),
    [
        ("with a as (select 1 x) select * from a where x in (select x from A)", ()),
        ("with a as (select 1 x), b as (select x from a) select * from b", ()),
        ("with a as (select 1 x) (select x from a) union (select x from a)", ()),
        ("with b as (select x from a), a as (select 1 x) select * from b", ("a",)),
        ("with a as (select x from a) select x from a", ("a",)),
        ("select * from a where exists (with a as (select 1 x) select x from a)", ("a",)),
        ("select * from (with a as (select 1 x) select x from a) q, a", ("a",)),
        ('with "\u212a" as (select 1 x) select x from k', ("k",)),
    ],
)
def test_a_cte_takes_the_place_of_a_table_only_where_it_is_in_reach(
    sql: str, outside: tuple[str, ...]
) -> None:
    assert gate(sql).tables == outside


def test_tables_are_those_that_no_cte_defines() -> None:
    sql = "with Orders as (select 1 as a), x as (select a from orders) select * from x, customers"

    assert gate(sql).tables == ("customers",)
    assert gate("select 1 from A join b on true").tables == ("A", "b")


@pytest.mark.parametrize("opening", ["(", "f(", "[", "{'a':", "case when ", "not ", "- ", "-+"])
def test_hostile_nesting_is_refused_quickly(opening: str) -> None:
    started = time.process_time()

    for length in (1_200, SQL_BYTES_MAX - 10):
        with pytest.raises(Rejected):
            gate("select " + (opening * SQL_BYTES_MAX)[:length])

    assert time.process_time() - started < 10


FRAGMENTS = (
    """select from where a b t ( ) , * 'x' 1 = and group by order limit union with as ; --"""
)
words = st.sampled_from(sorted(set(FRAGMENTS.split())))


@settings(max_examples=150, deadline=None)
@given(st.lists(words, max_size=14).map(" ".join))
def test_any_text_passes_stably_or_is_refused_with_a_code(sql: str) -> None:
    code, canonical = outcome(sql)

    assert code.startswith("sql_") if canonical is None else outcome(canonical) == (code, canonical)


def outcome(sql: str) -> tuple[str, str | None]:
    """Return the refusal's code, or the canonical text."""
    try:
        return "", gate(sql).canonical_sql
    except Rejected as refused:
        return refused.code, None
