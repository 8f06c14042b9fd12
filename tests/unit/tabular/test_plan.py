"""A remembered plan serves the same statement over the same visible columns, and no other."""

from __future__ import annotations

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.plan import plan
from chancery.tabular.schema import Column, TableSchema

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
