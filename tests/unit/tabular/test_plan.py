"""A remembered plan serves the same statement over the same visible columns, and no other."""

from __future__ import annotations

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.engine import EngineFailure
from chancery.tabular.plan import plan
from chancery.tabular.schema import Column, TableSchema
from chancery.tabular.twin import check_reads, create_tables, open_twin

SQL = "SELECT sum(amount) FROM orders"
AMOUNT = Column("amount", "integer", "BIGINT")
REGION = Column("region", "text", "VARCHAR")
WHOLE = TableSchema("orders", (REGION, AMOUNT))


def test_the_same_question_is_planned_once() -> None:
    assert plan(SQL, [WHOLE]) is plan(SQL, [WHOLE])


@pytest.mark.req("CR-27")
def test_what_one_caller_may_read_is_not_remembered_for_another() -> None:
    plan(SQL, [WHOLE])

    for _ in range(2):
        with pytest.raises(Rejected):
            plan(SQL, [TableSchema("orders", (REGION,))])


def test_another_type_of_a_column_is_another_plan() -> None:
    text = TableSchema("orders", (REGION, Column("amount", "double", "DOUBLE")))

    assert plan(SQL, [text]).tables != plan(SQL, [WHOLE]).tables


ONE_SELECT = (
    "SELECT amount FROM orders",
    "SELECT a.amount FROM orders a JOIN orders b ON a.amount = b.amount",
    "SELECT sum(amount) OVER () FROM orders",
    "SELECT amount FROM orders UNION SELECT amount + 1 FROM orders",
    "SELECT amount FROM orders WHERE amount IN (SELECT max(amount) FROM orders)",
)
NESTED = (
    "SELECT amount FROM (SELECT * FROM orders)",
    "WITH x AS (SELECT * FROM orders) SELECT amount FROM x",
    "SELECT a.amount FROM orders a WHERE EXISTS (FROM orders b WHERE b.amount > a.amount)",
)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("sql", [*ONE_SELECT, *NESTED])
def test_both_lineages_must_be_equal_but_for_unused_columns_of_nested_queries(sql: str) -> None:
    planned = plan(sql, [WHOLE])
    more, less = {"orders": ("amount", "region")}, dict[str, tuple[str, ...]](orders=())

    with open_twin() as twin:
        create_tables(twin, planned.tables)
        select, flat = planned.query.canonical_sql, planned.flat
        check_reads(twin, select, planned.reads, flat=flat)
        with pytest.raises(EngineFailure, match="sql_lineage_disagrees"):
            check_reads(twin, select, less, flat=flat)
        if flat:
            with pytest.raises(EngineFailure, match="sql_lineage_disagrees"):
                check_reads(twin, select, more, flat=flat)

    assert flat == (sql in ONE_SELECT)


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("view", ["pg_settings", "sqlite_master", "duckdb_types"])
def test_the_binder_refuses_the_catalog_of_the_engine_whatever_lineage_says(view: str) -> None:
    with open_twin() as twin:
        create_tables(twin, [WHOLE])
        check_reads(twin, SQL, {"orders": ("amount",)}, flat=True)
        for sql, reads in (
            (f"SELECT * FROM {view}", dict[str, tuple[str, ...]]()),
            (f"SELECT sum(amount) FROM orders, {view}", {"orders": ("amount",)}),
        ):
            with pytest.raises(EngineFailure, match="sql_lineage_disagrees"):
                check_reads(twin, sql, reads, flat=True)


CALLED = ("current_date", "current_timestamp", "current_user", "localtime", "session_user", "user")


@pytest.mark.req("CR-21")
@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {0} FROM orders",
        "SELECT {0} FROM orders WHERE EXISTS (SELECT 1 AS {0})",
        "SELECT {0} FROM orders WHERE EXISTS (SELECT q.{0} FROM (SELECT 1 AS {0}) q)",
        "SELECT sum(amount) AS {0} FROM orders HAVING {0} = 'duckdb'",
        "SELECT amount AS {0} FROM orders QUALIFY row_number() OVER (ORDER BY {0}) = 1",
        "SELECT amount FROM orders WHERE EXISTS (SELECT {0} FROM days) AND {0} IS NOT NULL",
    ],
)
def test_no_alias_or_column_elsewhere_lets_a_session_value_pass_for_a_column(
    name: str, sql: str
) -> None:
    days = TableSchema("days", (Column(name, "text", "VARCHAR"),))

    assert plan(f"SELECT days.{name} FROM days", [days]).reads == {"days": (name,)}
    assert plan(f"SELECT q.{name} FROM (SELECT amount AS {name} FROM orders) q", [WHOLE])
    with pytest.raises(Rejected) as refused:
        plan(sql.format(name), [WHOLE, days])

    assert refused.value.code in {"sql_unknown_column", "sql_lineage_unresolved"}


def test_a_column_that_is_called_user_is_a_column() -> None:
    accounts = TableSchema("accounts", (Column("user", "text", "VARCHAR"),))

    assert plan("SELECT count(user) FROM accounts", [accounts]).reads == {"accounts": ("user",)}
