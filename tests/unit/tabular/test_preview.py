"""The preview is immutable, bounded, and the only thing a value can be selected from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Rejected
from chancery.tabular.plan import plan
from chancery.tabular.preview import (
    BUDGET_BYTES_MAX,
    BUDGET_BYTES_MIN,
    PREVIEW_BYTES_MAX,
    ROWS_MAX,
    Preview,
    Result,
    Row,
    budget_of,
    preview_of,
    value_at,
)
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_object

ORDERS = TableSchema("orders", (column_of("amount", "BIGINT"), column_of("note", "VARCHAR")))
SQL = "SELECT amount, note, 1 FROM orders"
COLUMNS = (("amount", "BIGINT"), ("note", "VARCHAR"), ("1", "INTEGER"))


def preview(rows: tuple[Row, ...], *, bytes_max: int = 64 * 1024) -> Preview:
    judged = plan(SQL, [ORDERS]).eligibility
    return preview_of(SQL, Result(COLUMNS, rows, truncated=False), judged, bytes_max=bytes_max)


@pytest.mark.req("CR-22")
def test_every_field_is_bound_by_the_hash() -> None:
    sealed = preview((("1250", "a", "1"),))

    changed = [preview((("1251", "a", "1"),)), preview(()), preview((("1250", None, "1"),))]

    assert sealed == preview((("1250", "a", "1"),))
    assert sealed.preview_sha256 not in {each.preview_sha256 for each in changed}


@pytest.mark.req("CR-22")
def test_rows_beyond_fifty_are_cut_and_marked() -> None:
    rows = tuple((str(number), None, "1") for number in range(ROWS_MAX + 1))

    assert not preview(rows[:ROWS_MAX]).truncated
    assert len(preview(rows).rows) == ROWS_MAX
    assert preview(rows).truncated


@pytest.mark.req("CR-22")
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=30))
def test_the_byte_budget_holds_and_only_cuts_at_the_end(notes: list[str]) -> None:
    rows = tuple(("1", note, "1") for note in notes)
    whole = preview(rows)

    cut = preview(rows, bytes_max=1_000)

    assert len(cut.canonical()) <= 1_000
    assert cut.rows == whole.rows[: len(cut.rows)]
    assert cut.truncated == (len(cut.rows) < len(rows))


@pytest.mark.req("CR-22")
@given(st.integers(BUDGET_BYTES_MIN, BUDGET_BYTES_MAX))
def test_a_preview_states_the_budget_that_it_was_cut_to(bytes_max: int) -> None:
    rows = tuple(("1", "n" * 6_000, "1") for _ in range(ROWS_MAX))

    cut = preview(rows, bytes_max=bytes_max)

    stored = as_object(parse_json(cut.canonical()))
    assert budget_of(stored) == bytes_max
    assert ("bytes_max" in stored) == (bytes_max != PREVIEW_BYTES_MAX)
    assert len(cut.canonical()) <= bytes_max
    assert cut.truncated
    assert value_at(cut, len(cut.rows) - 1, 0).value == "1"
    with pytest.raises(Rejected):
        value_at(cut, len(cut.rows), 0)


@pytest.mark.req("CR-22")
@pytest.mark.parametrize(
    "stated",
    [0, -1, BUDGET_BYTES_MIN - 1, BUDGET_BYTES_MAX + 1, 2**40, True, 65536.0, "65536", None],
)
def test_a_budget_that_no_execution_may_be_set_to_is_refused(stated: Json) -> None:
    with pytest.raises(Rejected) as refused:
        budget_of({"bytes_max": stated})

    assert refused.value.code == "preview_budget"
    assert budget_of({}) == PREVIEW_BYTES_MAX


def test_columns_beyond_the_budget_are_refused() -> None:
    with pytest.raises(Rejected) as refused:
        preview((), bytes_max=100)

    assert refused.value.code == "preview_too_large"


@pytest.mark.req("CR-22", "KO-4")
def test_only_an_eligible_cell_of_the_preview_can_be_selected() -> None:
    sealed = preview((("1250", "a", "1"),))

    value = value_at(sealed, 0, 0)

    assert (value.value, value.type, value.label) == ("1250", "BIGINT", "orders.amount")
    for row, column, code in (
        (0, 2, "value_ineligible"),
        (1, 0, "value_out_of_range"),
        (-1, 0, "value_out_of_range"),
        (0, 3, "value_out_of_range"),
    ):
        with pytest.raises(Rejected) as refused:
            value_at(sealed, row, column)
        assert refused.value.code == code
