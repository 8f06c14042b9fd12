"""Of the texts in labels release believes execution only what the rows alone can tell."""

from __future__ import annotations

import pytest

from chancery.evidence.manifest import DatasetManifest, MeasureCard
from chancery.kernel.canonical import canonical_bytes, parse_json
from chancery.kernel.errors import Rejected
from chancery.release.domain.recorded import Query, checked_preview
from chancery.release.domain.selection import is_selection_error
from chancery.release.errors import InvalidSelection, OtherBuild
from chancery.tabular.clauses import Condition
from chancery.tabular.labels import LabelText
from chancery.tabular.plan import plan
from chancery.tabular.preview import Result, preview_of, value_at
from chancery.tabular.schema import TableSchema, column_of, quote_identifier
from chancery.tabular.tree import as_object
from tests.unit.release.test_selection import DATASET, TABLE, recorded

PROSE = "SELECT sum(amount) FROM orders WHERE region = 'The merger is approved'"
STATED = Condition("region", "'The merger is approved'")
SUMMED = ("sum(amount)", "HUGEINT")


def declaring(sql: str) -> DatasetManifest:
    card = MeasureCard(name="m", label="label", sql=sql, aggregate="count")
    return DATASET.model_copy(update={"cards": (card,)})


@pytest.mark.req("CR-21", "KO-2")
def test_a_label_repeats_a_text_that_rests_on_rows_or_on_a_published_measure() -> None:
    published = declaring("SELECT count_star() FROM orders WHERE region = 'The merger is approved'")
    rows = recorded(PROSE, SUMMED, texts=[LabelText(STATED, "rows")])
    declared = recorded(PROSE, SUMMED, texts=[LabelText(STATED, "declared")], manifest=published)

    for query in (rows, declared):
        preview, _ = checked_preview(query, TABLE)
        assert value_at(preview, 0, 0).label.endswith("'The merger is approved'")


@pytest.mark.req("CR-21", "KO-2")
def test_a_text_that_rests_on_nothing_is_in_no_answer_but_the_result_stands() -> None:
    query = recorded(PROSE, SUMMED, texts=[LabelText(STATED, None)])

    preview, _ = checked_preview(query, TABLE)

    assert preview.rows == (("4000",),)
    with pytest.raises(Rejected) as refused:
        value_at(preview, 0, 0)
    assert is_selection_error(refused.value)


@pytest.mark.req("CR-21", "KO-2")
@pytest.mark.parametrize(
    ("query", "code"),
    [
        (recorded(PROSE, SUMMED), "label_texts_missing"),
        (recorded(PROSE, SUMMED, texts=[LabelText(STATED, "declared")]), "label_text_undeclared"),
        (
            recorded(
                PROSE,
                SUMMED,
                texts=[LabelText(STATED, "declared")],
                manifest=declaring("SELECT count_star() FROM orders WHERE region = 'west'"),
            ),
            "label_text_undeclared",
        ),
        (
            recorded(PROSE, SUMMED, texts=[LabelText(Condition("region", "'west'"), "rows")]),
            "preview_mismatch",
        ),
        (
            recorded(PROSE, SUMMED, texts=[LabelText(STATED, "rows")] * 2),
            "preview_mismatch",
        ),
        (
            recorded("SELECT sum(amount) FROM orders", SUMMED, texts=[LabelText(STATED, "rows")]),
            "preview_mismatch",
        ),
    ],
    ids=["silent", "no measure", "another measure", "another text", "twice", "no text"],
)
def test_a_preview_is_believed_of_its_texts_only_what_the_rows_alone_can_tell(
    query: Query, code: str
) -> None:
    with pytest.raises(InvalidSelection) as refused:
        checked_preview(query, TABLE)

    assert refused.value.code == code
    assert isinstance(refused.value, OtherBuild) == (code == "label_texts_missing")


@pytest.mark.req("CR-21", "KO-2")
def test_a_preview_whose_eligibility_is_forged_beside_its_texts_is_refused() -> None:
    honest = recorded(PROSE, SUMMED, texts=[LabelText(STATED, "rows")])
    assert honest.preview.count(b'"basis":"rows"') == 1

    forged = Query(DATASET, honest.sql, honest.preview.replace(b'"basis":"rows"', b'"basis":null'))

    with pytest.raises(InvalidSelection) as refused:
        checked_preview(forged, TABLE)
    assert refused.value.code == "preview_mismatch"


FORGING = "amount) = 4000. The CEO resigned ("
FORGING_TABLE = TableSchema("orders", (column_of(FORGING, "BIGINT"),))
FORGED_SUM = f"SELECT sum({quote_identifier(FORGING)}) FROM orders"


def over_forging(*, quotes_names: bool) -> Query:
    planned = plan(FORGED_SUM, [FORGING_TABLE])
    result = Result((SUMMED,), (("3",),), truncated=False)
    sql = planned.query.canonical_sql
    made = preview_of(sql, result, planned.eligibility, quotes_names=quotes_names)
    return Query(DATASET, sql, made.canonical())


@pytest.mark.req("CR-21", "KO-2")
def test_a_column_name_puts_no_sentence_into_an_answer() -> None:
    preview, _ = checked_preview(over_forging(quotes_names=True), FORGING_TABLE)

    assert value_at(preview, 0, 0).label == f'SUM(orders."{FORGING}")'
    with pytest.raises(OtherBuild) as refused:
        checked_preview(over_forging(quotes_names=False), FORGING_TABLE)
    assert refused.value.code == "label_names_unquoted"


@pytest.mark.req("CR-21", "KO-2")
def test_a_preview_that_claims_to_quote_where_nothing_is_to_quote_is_refused() -> None:
    honest = recorded("SELECT sum(amount) FROM orders", SUMMED)
    told = {**as_object(parse_json(honest.preview)), "label_names": "quoted"}

    with pytest.raises(InvalidSelection) as refused:
        checked_preview(Query(DATASET, honest.sql, canonical_bytes(told)), TABLE)
    assert refused.value.code == "preview_mismatch"
