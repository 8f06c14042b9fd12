"""A sealed statement is about the columns that it read, and only while all of them are visible."""

from __future__ import annotations

import pytest

from chancery.evidence.bundle import RowsRead
from chancery.release.domain.meaning import table_meant
from chancery.release.domain.resealing import Recorded
from chancery.tabular.plan import plan
from chancery.tabular.preview import Result, preview_of
from chancery.tabular.schema import Column, TableSchema, column_of

pytestmark = [pytest.mark.req("XB-2", "CR-27")]

ID, AMOUNT, REGION, SECRET = COLUMNS = (
    column_of("id", "BIGINT"),
    column_of("Amount", "BIGINT"),
    column_of("region", "VARCHAR"),
    column_of("secret", "BIGINT"),
)
STAR = "SELECT * FROM orders"


def orders(*columns: Column) -> TableSchema:
    return TableSchema("orders", columns)


def recorded(sql: str, seen: TableSchema, *, with_rows: bool = True) -> Recorded:
    """Return what a run stores of a statement over what its asker saw."""
    planned = plan(sql, [seen])
    items = planned.eligibility.columns
    result = Result(tuple((each.name, "BIGINT") for each in items), (), truncated=False)
    preview = preview_of(planned.query.canonical_sql, result, planned.eligibility)
    read = planned.reads["orders"]
    columns = tuple((c.name, c.duckdb_type) for c in seen.columns if c.name in read)
    rows = RowsRead(table="orders", columns=columns, rows=()).to_bytes() if with_rows else None
    return Recorded(preview.sql.encode(), preview.canonical(), rows)


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_star_stands_for_what_it_read_and_not_for_what_was_revealed_later(
    with_rows: bool,
) -> None:
    seen = orders(ID, AMOUNT, REGION)

    star = recorded(STAR, seen, with_rows=with_rows)

    assert table_meant(star, seen) == seen
    assert table_meant(star, orders(*COLUMNS)) == seen


def test_an_alias_keeps_the_name_that_a_revealed_column_has() -> None:
    seen = orders(ID, AMOUNT)
    by_alias = recorded("SELECT amount AS secret FROM orders WHERE secret > 1", seen)

    assert table_meant(by_alias, orders(ID, AMOUNT, SECRET)) == orders(AMOUNT)


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(amount) FROM orders WHERE region = 'north'",
        "SELECT amount FROM orders ORDER BY region",
        "SELECT count(*) FROM orders",
    ],
)
def test_a_statement_that_names_its_columns_means_the_same_whatever_is_revealed(
    sql: str, with_rows: bool
) -> None:
    stored = recorded(sql, orders(ID, AMOUNT, REGION), with_rows=with_rows)

    assert table_meant(stored, orders(*COLUMNS)) == orders(*COLUMNS)


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_column_that_was_hidden_before_the_cut_is_not_taken_out_of_the_statement(
    with_rows: bool,
) -> None:
    """The statement then fails or differs, which is a finding: release seals no such thing."""
    left = orders(ID, REGION, SECRET)
    seen = orders(ID, AMOUNT, REGION)

    for sql in (STAR, "SELECT sum(amount) FROM orders"):
        assert table_meant(recorded(sql, seen, with_rows=with_rows), left) == left


@pytest.mark.parametrize(
    "stored",
    [
        Recorded(b"SELECT", b"{}", None),
        Recorded(b"\xff", b"{}", None),
        Recorded(STAR.encode(), b"not JSON", None),
        Recorded(STAR.encode(), b'{"columns":[7,{"native":7},{"native":{"column":7}}]}', None),
        Recorded(STAR.encode(), b"[]", b"not rows"),
        Recorded(b"SELECT 1", b"{}", None),
    ],
)
def test_what_has_not_its_form_changes_nothing(stored: Recorded) -> None:
    assert table_meant(stored, orders(*COLUMNS)) == orders(*COLUMNS)
