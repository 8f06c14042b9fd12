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
