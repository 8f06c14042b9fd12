"""Names in labels: a plain word as it is, everything else in quotation marks."""

from __future__ import annotations

import pytest

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Rejected
from chancery.tabular.plan import plan
from chancery.tabular.preview import Preview, PreviewForm, Result, form_of, preview_of, value_at
from chancery.tabular.schema import TableSchema, column_of, quote_identifier
from chancery.tabular.stated_names import stated_name
from chancery.tabular.tree import as_object

PROSE = "amount) = 4000. The CEO resigned ("
RESULT = Result((("sum", "HUGEINT"),), (("7",),), truncated=False)

pytestmark = pytest.mark.req("CR-21")


def preview(sql: str, name: str, *, table: str = "orders", quotes_names: bool = True) -> Preview:
    schema = TableSchema(table, (column_of(name, "BIGINT"),))
    planned = plan(sql, [schema])
    return preview_of(
        planned.query.canonical_sql, RESULT, planned.eligibility, quotes_names=quotes_names
    )


def summed(name: str, *, quotes_names: bool = True) -> Preview:
    sql = f"SELECT sum({quote_identifier(name)}) FROM orders"
    return preview(sql, name, quotes_names=quotes_names)


@pytest.mark.parametrize("name", ["amount", "Net_amount2", "_id", "Größe", "金額", "сумма", "राशि"])
def test_a_plain_word_of_any_script_stands_as_it_is(name: str) -> None:
    assert stated_name(name) == name
    assert value_at(summed(name), 0, 0).label == f"SUM(orders.{name})"


@pytest.mark.parametrize(
    "name",
    [
        PROSE,
        "Net amount",
        "[1]",
        "“[2] Paris”",
        "= 999,999",
        'say "no"',
        "2024",
        "a-b",
        "a.b",
        "a\u00a0b",
        "a\u3164b",
        "a\u115fb",
        "a\u2800b",
        "it's",
    ],
)
def test_a_name_that_is_no_plain_word_is_quoted_as_sql_does(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'

    made = summed(name)

    assert stated_name(name) == quoted
    assert value_at(made, 0, 0).label == f"SUM(orders.{quoted})"
    assert form_of(as_object(parse_json(made.canonical()))).quotes_names
    assert b'"label_names":"quoted"' in made.canonical()


def test_names_are_quoted_wherever_a_label_states_them() -> None:
    column, table = "Net amount", "sales-2024"
    told = [
        value_at(preview(sql, column, table=table), 0, 0).label
        for sql in (
            'SELECT "Net amount" FROM "sales-2024"',
            'SELECT * FROM "sales-2024"',
            'SELECT count(*) FROM "sales-2024" WHERE "Net amount" = 3',
        )
    ]

    assert told == [
        '"sales-2024"."Net amount"',
        '"sales-2024"."Net amount"',
        'COUNT(*) WHERE "sales-2024"."Net amount" = 3',
    ]


def test_what_an_older_build_sealed_keeps_its_bytes() -> None:
    old = summed(PROSE, quotes_names=False)
    plain, plain_then = summed("amount"), summed("amount", quotes_names=False)

    assert value_at(old, 0, 0).label == f"SUM(orders.{PROSE})"
    assert b"label_names" not in old.canonical()
    assert form_of(as_object(parse_json(old.canonical()))) == PreviewForm(
        texts=None, quotes_names=False
    )
    assert plain.canonical() == plain_then.canonical()
    assert old.preview_sha256 != summed(PROSE).preview_sha256


@pytest.mark.parametrize("told", ["bare", "", True, [], {}])
def test_a_word_on_names_that_has_not_its_form_is_refused(told: Json) -> None:
    with pytest.raises(Rejected) as refused:
        form_of({"label_names": told})

    assert (refused.value.code, refused.value.field) == ("preview_label_names", "preview")
