"""CR-21, clause by clause: what an answer may state, and the native label it states it under."""

from __future__ import annotations

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Condition
from chancery.tabular.eligibility import ColumnEligibility, Native
from chancery.tabular.plan import Plan, plan
from chancery.tabular.schema import TableSchema, column_of

ORDERS = TableSchema(
    "orders",
    (
        column_of("id", "BIGINT"),
        column_of("amount", "DECIMAL(18,2)"),
        column_of("Region", "VARCHAR"),
        column_of("weight", "DOUBLE"),
        column_of("day", "DATE"),
        column_of("paid", "BOOLEAN"),
    ),
)
CUSTOMERS = TableSchema(
    "north-customers", (column_of("id", "BIGINT"), column_of("name", "VARCHAR"))
)


def planned(sql: str) -> Plan:
    return plan(sql, [ORDERS, CUSTOMERS])


def judged(sql: str) -> tuple[ColumnEligibility, ...]:
    return planned(sql).eligibility.columns


LABELLED = [
    ("select amount from orders", "orders.amount"),
    ("select o.amount from orders as o", "orders.amount"),
    ("select AMOUNT as total from ORDERS", "orders.amount"),
    ("select region from orders", "orders.Region"),
    ('select name from "north-customers"', '"north-customers".name'),
    ("select sum(amount) from orders", "SUM(orders.amount)"),
    ("select avg(amount) as average from orders", "AVG(orders.amount)"),
    ("select min(day) from orders", "MIN(orders.day)"),
    ("select max(weight) from orders", "MAX(orders.weight)"),
    ("select count(region) from orders", "COUNT(orders.Region)"),
    ("select count(*) from orders", "COUNT(*)"),
    ("select count() from orders", "COUNT(*)"),
    ("select amount from orders where id = 1 limit 5", "orders.amount"),
    ("select distinct amount from orders order by amount", "orders.amount"),
    ("select amount from orders offset 1", "orders.amount"),
    ("select region from orders group by region", "orders.Region"),
    (
        "select sum(amount) from orders where region = 'north'",
        "SUM(orders.amount) WHERE orders.Region = 'north'",
    ),
    (
        "select count(*) from orders where paid = true and id = -7 and amount = 1.50",
        "COUNT(*) WHERE orders.paid = true AND orders.id = -7 AND orders.amount = 1.50",
    ),
    (
        "select sum(amount) from orders where day = '2024-01-02'",
        "SUM(orders.amount) WHERE orders.day = '2024-01-02'",
    ),
    (
        "select count(*) from orders where region = 'it''s'",
        "COUNT(*) WHERE orders.Region = 'it''s'",
    ),
]


@pytest.mark.req("CR-21", "KO-4")
@pytest.mark.parametrize(("sql", "label"), LABELLED)
def test_a_native_fact_is_eligible_under_its_native_label(sql: str, label: str) -> None:
    (column,) = judged(sql)

    assert (column.eligible, column.label, column.reason) == (True, label, None)


@pytest.mark.req("CR-21")
def test_a_bare_star_is_every_column_of_its_table() -> None:
    columns = judged("select * from orders")

    assert [each.label for each in columns] == [f"orders.{each.name}" for each in ORDERS.columns]
    assert all(each.eligible for each in columns)


INELIGIBLE = [
    ("select 42 from orders", "constant"),
    ("select 'x' from orders", "constant"),
    ("select amount + 1 from orders", "expression"),
    ("select -amount from orders", "expression"),
    ("select cast(amount as integer) from orders", "expression"),
    ("select case when paid then amount end from orders", "expression"),
    ("select coalesce(amount, 0) from orders", "expression"),
    ("select upper(region) from orders", "function"),
    ("select median(amount) from orders", "function"),
    ("select sum(amount + 1) from orders", "expression"),
    ("select sum(1) from orders", "expression"),
    ("select max(amount, 2) from orders", "expression"),
    ("select sum(amount) from orders where amount > 5", "where"),
    ("select sum(amount) from orders where region = 'a' or id = 1", "where"),
    ("select sum(amount) from orders where region in ('a')", "where"),
    ("select sum(amount) from orders where region is null", "where"),
    ("select sum(amount) from orders where region = upper('a')", "where"),
    ("select sum(amount) from orders where id = amount", "where"),
    ("select sum(amount) from orders where weight = 1", "where"),
    ("select sum(amount) from orders where region = 1", "where"),
    ("select sum(amount) from orders where id = 1e3", "where"),
    ("select sum(amount) from orders where amount = 1." + "0" * 40, "where"),
    ("select sum(amount) from orders where region = e'a\\nb'", "where"),
    ("select sum(amount) from orders where false", "where"),
    ("select sum(amount) from orders where day = '2024-01-02 23:59:59'", "where"),
    ("select sum(amount) from orders where day = '2024-1-2'", "where"),
    ("select sum(amount) from orders where day = '20240102'", "where"),
    ("select sum(amount) from orders where day = '2024-W01-2'", "where"),
    ("select sum(amount) from orders where day = ' 2024-01-02'", "where"),
    ("select sum(amount) from orders where day = '2024-01-02 (BC)'", "where"),
    ("select sum(amount) from orders where day = '10000-01-02'", "where"),
    ("select sum(amount) from orders where day = 'epoch'", "where"),
    ("select sum(amount) from orders where day = 'infinity'", "where"),
    ("select sum(amount) from orders where day = '2024-02-30'", "where"),
    ("select sum(amount) from orders group by region", "group_by"),
    ("select sum(amount) from orders group by all", "group_by"),
    ("select sum(amount) from orders group by ()", "group_by"),
    ("select sum(amount) from orders having count(*) > 1", "having"),
    ("select distinct sum(amount) from orders", "distinct"),
    ("select sum(distinct amount) from orders", "distinct"),
    ("select count(distinct region) from orders", "distinct"),
    ("select sum(amount) filter (where paid) from orders", "filter"),
    ("select count(*) filter (where paid) from orders", "filter"),
    ("select sum(amount) from orders limit 1", "limit"),
    ("select sum(amount) from orders offset 0", "offset"),
    ("select sum(amount order by id) from orders", "ordered"),
    ("select sum(weight) from orders", "double"),
    ("select avg(weight) from orders", "double"),
    ("select sum(paid) from orders", "aggregate_type"),
    ("select region from orders group by rollup(region)", "grouping_sets"),
]


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("sql", "reason"), INELIGIBLE)
def test_a_clause_or_expression_makes_its_column_ineligible(sql: str, reason: str) -> None:
    (column,) = judged(sql)

    assert (column.eligible, column.label, column.reason) == (False, None, reason)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select orders.* from orders", "qualified_star"),
        ("select * exclude (id) from orders", "changed_star"),
        ("select * replace (id + 1 as id) from orders", "changed_star"),
    ],
)
def test_a_changed_star_states_nothing(sql: str, reason: str) -> None:
    assert {each.reason for each in judged(sql)} == {reason}


WHOLE = [
    ("select o.amount from orders o join orders p on o.id = p.id", "join"),
    ('select amount from orders, "north-customers"', "join"),
    ("select amount from (select amount from orders) x", "subquery"),
    ("select amount, (select 1) from orders", "subquery"),
    ("select amount from orders where id in (select id from orders)", "subquery"),
    ("select amount from orders limit (select 1)", "subquery"),
    ("with x as (select 1 as one) select amount from orders", "cte"),
    ("select amount, sum(amount) over () from orders", "window"),
    ("select amount from orders qualify row_number() over (order by id) = 1", "window"),
    ("select amount from orders union all select amount from orders", "set_operation"),
    ("select 1", "no_table"),
]


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(("sql", "reason"), WHOLE)
def test_a_shape_beyond_one_table_disqualifies_every_column(sql: str, reason: str) -> None:
    whole = planned(sql).eligibility

    assert whole.reason == reason
    assert whole.column(0, "any", 1).reason == reason
    assert not whole.column(0, "any", 1).eligible


@pytest.mark.req("CR-21", "CR-22", "KO-4")
def test_an_ineligible_sibling_disqualifies_only_itself() -> None:
    columns = judged("select sum(amount) as bananas, 4000 as total, sum(amount) * 2 from orders")

    assert [each.eligible for each in columns] == [True, False, False]
    assert columns[0].label == "SUM(orders.amount)"
    assert columns[0].native == Native("orders", "amount", "SUM")


@pytest.mark.req("CR-22")
def test_an_alias_that_is_another_columns_name_renames_nothing() -> None:
    columns = judged("select id as amount, amount as id, sum(id) as region from orders")

    assert [each.label for each in columns] == ["orders.id", "orders.amount", "SUM(orders.id)"]


def test_the_native_fact_carries_table_column_aggregate_and_conditions() -> None:
    (column,) = judged("select count(*) from orders where region = 'north'")

    assert column.native == Native("orders", None, "COUNT", (Condition("Region", "'north'"),))


def test_columns_are_not_trusted_when_their_number_differs() -> None:
    found = planned("select amount from orders").eligibility

    assert found.column(0, "x", 1).eligible
    assert found.column(0, "x", 2).reason == "lineage"


UNKNOWN = [
    ("select amount from invoices", "sql_unknown_table"),
    ("select amount from 'orders.csv'", "sql_unknown_table"),
    ("select cost from orders", "sql_unknown_column"),
    ("select x.amount from orders", "sql_lineage_unresolved"),
    ('select id from orders, "north-customers"', "sql_not_bindable"),
    ("select a.id from orders a, orders b where amount > 1", "sql_not_bindable"),
    ("select a.id from orders a join orders b on a.id = b.id group by id", "sql_not_bindable"),
    (
        "select l.id from orders o, (select id from orders c where c.id = o.id) l",
        "sql_lineage_unresolved",
    ),
    ("select orders from orders", "sql_unknown_column"),
    ("select rowid from orders", "sql_unknown_column"),
    ("select current_user from orders", "sql_unknown_column"),
    ("select current_date", "sql_unknown_column"),
    ("select amount from orders where orders is null", "sql_unknown_column"),
]


@pytest.mark.parametrize(("sql", "code"), UNKNOWN)
def test_a_name_that_the_caller_does_not_have_is_refused(sql: str, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        planned(sql)

    assert refused.value.code == code


def test_reads_are_every_column_that_can_influence_the_result() -> None:
    sql = "select sum(amount) from orders where region = 'x' group by day order by min(id)"

    assert planned(sql).reads == {"orders": ("Region", "amount", "day", "id")}
    assert planned("select count(*) from orders").reads == {"orders": ()}


def test_two_tables_that_differ_only_in_case_are_told_apart_or_refused() -> None:
    tables = [TableSchema("Orders", ORDERS.columns), ORDERS]

    assert plan("select sum(amount) from orders", tables).tables == (ORDERS,)
    with pytest.raises(Rejected) as unclear:
        plan("select sum(amount) from ORDERS", tables)
    with pytest.raises(Rejected) as both:
        plan("select * from orders, Orders", tables)
    assert unclear.value.code == both.value.code == "sql_ambiguous_table"
