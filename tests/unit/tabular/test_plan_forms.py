"""A plan is the same on both sides of the pipe to the process that made it."""

from __future__ import annotations

import pytest

from chancery.kernel.canonical import canonical_bytes, parse_json
from chancery.tabular.clauses import Condition
from chancery.tabular.plan import plan
from chancery.tabular.plan_forms import (
    conditions_json,
    conditions_of,
    plan_json,
    plan_of,
    plan_request,
    schemas_of,
)
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_object

TABLES = [
    TableSchema("orders", (column_of("id", "BIGINT"), column_of("Größe", "VARCHAR"))),
    TableSchema("q3-orders", (column_of("a;b", "DECIMAL(18,2)"), column_of("l", "INTEGER[]"))),
    TableSchema("empty", ()),
]


@pytest.mark.req("CR-21")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(id), count(*), 1, Größe AS g FROM orders WHERE Größe = 'it''s' AND id = 3",
        'SELECT * FROM "q3-orders"',
        "SELECT count(*) FROM empty",
        "SELECT 1",
        'SELECT o.id, string_agg("a;b") FROM orders o, "q3-orders" q GROUP BY ALL',
        "WITH x AS (SELECT id FROM orders) SELECT id FROM x UNION ALL SELECT id FROM orders",
    ],
)
def test_a_plan_comes_back_as_it_was_made(sql: str) -> None:
    made = plan(sql, TABLES)

    found = plan_of(as_object(parse_json(canonical_bytes(plan_json(made)))), TABLES)

    assert found == made
    assert (found.flat, found.query.tree_json) == (made.flat, made.query.tree_json)


def test_the_tables_and_conditions_of_a_question_arrive_as_they_are() -> None:
    asked = as_object(parse_json(canonical_bytes(plan_request("SELECT 1", TABLES))))
    conditions = (Condition("Größe", "'it''s'"), Condition("id", "3"))

    assert schemas_of(asked) == tuple(TABLES)
    assert conditions_of(conditions_json(conditions)) == conditions
