"""A declared measure becomes one canonical statement with one label, or names its bad field."""

from __future__ import annotations

import pytest

from chancery.kernel.errors import Rejected
from chancery.tabular.gate import gate
from chancery.tabular.measures import Measure, measure_statement
from chancery.tabular.schema import TableSchema, column_of

TABLE = TableSchema(
    "q3-orders",
    (
        column_of("amount", "DECIMAL(18,2)"),
        column_of("weight", "DOUBLE"),
        column_of('odd "name', "VARCHAR"),
        column_of("day", "DATE"),
        column_of("paid", "BOOLEAN"),
        column_of("year", "BIGINT"),
    ),
)
MEASURES = [
    (Measure("total", "sum", "amount"), 'SUM("q3-orders".amount)'),
    (Measure("total", "SUM", "AMOUNT"), 'SUM("q3-orders".amount)'),
    (Measure("orders", "count"), "COUNT(*)"),
    (Measure("heaviest", "max", "weight"), 'MAX("q3-orders".weight)'),
    (
        Measure("total", "sum", "amount", where={'odd "name': "it's"}),
        'SUM("q3-orders".amount) WHERE "q3-orders"."odd ""name" = \'it\'\'s\'',
    ),
    (
        Measure("n", "count", where={"year": 2024, "amount": "1.50"}),
        'COUNT(*) WHERE "q3-orders".amount = 1.50 AND "q3-orders".year = 2024',
    ),
    *(
        (
            Measure("n", "count", where={"amount": written}),
            f'COUNT(*) WHERE "q3-orders".amount = {stated}',
        )
        for written, stated in (
            ("00012.5", "12.5"),
            ("-0", "0"),
            ("-0.00", "0.00"),
            ("-007.50", "-7.50"),
            ("000", "0"),
            ("100", "100"),
            ("0.05", "0.05"),
        )
    ),
    (
        Measure("n", "count", where={"day": "2024-01-31"}),
        "COUNT(*) WHERE \"q3-orders\".day = '2024-01-31'",
    ),
]


@pytest.mark.req("CR-21", "KO-4")
@pytest.mark.parametrize(("measure", "label"), MEASURES)
def test_a_measure_states_its_calculation_in_full(measure: Measure, label: str) -> None:
    statement = measure_statement(TABLE, measure)

    assert statement.label == label
    assert gate(statement.sql).canonical_sql == statement.sql


@pytest.mark.parametrize(
    ("measure", "field"),
    [
        (Measure("m", "median", "amount"), "measures.m.aggregate"),
        (Measure("m", "sum"), "measures.m.column"),
        (Measure("m", "sum", "cost"), "measures.m.column"),
        (Measure("m", "sum", "weight"), "measures.m.column"),
        (Measure("m", "avg", "day"), "measures.m.column"),
        (Measure("m", "count", where={"cost": 1}), "measures.m.where"),
        (Measure("m", "count", where={"weight": 1}), "measures.m.where"),
        (Measure("m", "count", where={"year": "2024"}), "measures.m.where"),
        (Measure("m", "count", where={'odd "name': "a\nb"}), "measures.m.where"),
        (Measure("m", "count", where={'odd "name': "x' or 1=1 --" + "y" * 80}), "measures.m.where"),
    ],
)
def test_a_bad_measure_is_refused_by_field(measure: Measure, field: str) -> None:
    with pytest.raises(Rejected) as refused:
        measure_statement(TABLE, measure)

    assert (refused.value.code, refused.value.field) == ("invalid_measure", field)
