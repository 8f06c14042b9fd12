"""What the texts in a label rest on: rows, a published measure, or nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Rejected
from chancery.tabular.clauses import Condition, sql_text, text_of
from chancery.tabular.labels import Basis, LabelText, declared_texts, label_texts
from chancery.tabular.plan import plan
from chancery.tabular.preview import PreviewForm, Result, form_of, preview_of, value_at
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.tree import as_object

ORDERS = TableSchema(
    "orders",
    (
        column_of("amount", "BIGINT"),
        column_of("region", "VARCHAR"),
        column_of("day", "DATE"),
        column_of("paid", "BOOLEAN"),
    ),
)
PROSE = "The merger is approved"
SUM = f"SELECT sum(amount) FROM orders WHERE region = '{PROSE}'"
STATED = Condition("region", f"'{PROSE}'")
RESULT = Result((("sum", "HUGEINT"),), (("7",),), truncated=False)

pytestmark = pytest.mark.req("CR-21")


def texts_of(sql: str) -> tuple[Condition, ...]:
    return plan(sql, [ORDERS]).eligibility.texts


def test_only_texts_that_a_label_repeats_have_to_rest_on_something() -> None:
    assert texts_of(SUM) == (STATED,)
    both = "select sum(amount), count(*) from orders where region = 'b' and region = 'it''s'"
    assert texts_of(both) == (Condition("region", "'b'"), Condition("region", "'it''s'"))
    for sql in (
        "select sum(amount) from orders",
        "select count(*) from orders where day = '2024-01-02' and paid = true and amount = 7",
        "select region from orders where region = 'shown as it is in no label'",
        "select sum(amount) + 1 from orders where region = 'no label at all'",
        "select sum(amount) from orders where region in ('a')",
    ):
        assert texts_of(sql) == (), sql


@pytest.mark.parametrize("text", ["", "north", "it's", "''", "'", "a''b"])
def test_the_text_of_a_literal_is_read_back(text: str) -> None:
    assert text_of(sql_text(text)) == text


def test_rows_come_before_a_declaration_and_what_has_neither_rests_on_nothing() -> None:
    conditions = tuple(Condition("region", f"'{name}'") for name in "abc")

    found = label_texts(conditions, (True, False, False), {conditions[0], conditions[1]})

    assert [each.basis for each in found] == ["rows", "declared", None]


@pytest.mark.parametrize("basis", [*get_args(Basis), None])
def test_a_label_is_stated_only_when_its_texts_rest_on_something(basis: Basis | None) -> None:
    planned = plan(SUM, [ORDERS])

    preview = preview_of(
        planned.query.canonical_sql, RESULT, planned.eligibility, texts=(LabelText(STATED, basis),)
    )

    (column,) = preview.columns
    assert preview.rows == (("7",),)
    if basis is not None:
        assert (
            value_at(preview, 0, 0).label == f"SUM(orders.amount) WHERE orders.region = '{PROSE}'"
        )
        return
    assert (column.eligible, column.label, column.reason) == (False, None, "label_text")
    assert column.native is None
    with pytest.raises(Rejected) as refused:
        value_at(preview, 0, 0)
    assert refused.value.code == "value_ineligible"


def test_a_preview_tells_what_its_texts_rest_on_and_is_made_again_in_the_same_form() -> None:
    planned, texts = plan(SUM, [ORDERS]), (LabelText(STATED, "rows"),)

    told = preview_of(planned.query.canonical_sql, RESULT, planned.eligibility, texts=texts)
    silent = preview_of(planned.query.canonical_sql, RESULT, planned.eligibility)

    assert form_of(as_object(parse_json(told.canonical()))) == PreviewForm(
        texts=texts, quotes_names=False
    )
    assert form_of(as_object(parse_json(silent.canonical()))).texts is None
    assert b"label_texts" not in silent.canonical(), "the bytes of what was sealed before"
    assert told.preview_sha256 != silent.preview_sha256


@pytest.mark.parametrize(
    "told",
    [
        "rows",
        {},
        [{"column": "region", "literal": "'a'"}],
        [{"column": "region", "literal": "'a'", "basis": "hearsay"}],
        [{"column": 7, "literal": "'a'", "basis": None}],
        [["region"]],
    ],
)
def test_texts_that_have_not_their_form_are_refused(told: Json) -> None:
    with pytest.raises(Rejected) as refused:
        form_of({"label_texts": told})

    assert (refused.value.code, refused.value.field) == ("preview_label_texts", "preview")


def test_a_measure_declares_the_texts_that_it_states_and_no_others() -> None:
    declared = "SELECT count(*) FROM orders WHERE region = 'west'"
    west, east = Condition("region", "'west'"), Condition("region", "'east'")

    assert declared_texts({west, east}, [declared], ORDERS) == {west}
    assert declared_texts({Condition("other", "'west'")}, [declared], ORDERS) == frozenset()
    assert declared_texts({west}, [], ORDERS) == frozenset()
    assert declared_texts(set(), [declared], ORDERS) == frozenset()


def test_a_measure_that_rests_on_a_hidden_column_declares_nothing() -> None:
    declared = "SELECT sum(secret) FROM orders WHERE region = 'west'"
    west = Condition("region", "'west'")
    seen = TableSchema("orders", (*ORDERS.columns, column_of("secret", "BIGINT")))

    assert declared_texts({west}, [declared], ORDERS) == frozenset()
    assert declared_texts({west}, [declared], seen) == {west}
