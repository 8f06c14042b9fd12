"""A query as execution recorded it: its statement and its preview are what we derive, or nothing.

Of what only the rows tell, release believes execution; running the statement again checks it.
"""

from __future__ import annotations

from dataclasses import dataclass

from chancery.evidence.manifest import DatasetManifest
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt
from chancery.release.errors import InvalidSelection, OtherBuild
from chancery.tabular.jobs import row_of
from chancery.tabular.labels import LabelText, declared_texts
from chancery.tabular.plan import Plan, plan
from chancery.tabular.preview import Preview, PreviewForm, Result, form_of, preview_of
from chancery.tabular.schema import TableSchema
from chancery.tabular.tree import as_items, as_object, as_text


@dataclass(frozen=True, slots=True)
class Query:
    """An executed statement as execution stored it: its text, its preview's bytes, its dataset."""

    manifest: DatasetManifest
    sql: str
    preview: bytes


def checked_preview(query: Query, table: TableSchema) -> tuple[Preview, Plan]:
    """Return a recorded preview whose statement, labels and eligibility are what we derive.

    Raises:
        Rejected: the statement does not pass the gate over what the caller may see, or the preview
            states a byte budget that no execution may be set to.
        OtherBuild: the preview does not tell what the texts of its labels rest on, or its labels do
            not quote a name that is no plain word.
        InvalidSelection: the recorded preview is not the one that follows from the statement.
    """
    planned = plan(query.sql, [table])
    if planned.query.canonical_sql != query.sql:
        message = "the recorded statement is not in its canonical form"
        raise InvalidSelection(message, code="query_not_canonical")
    try:
        result, form = _result_of(query.preview)
    except (Corrupt, KeyError, TypeError, ValueError, AssertionError) as error:
        message = "the recorded preview is malformed"
        raise InvalidSelection(message, code="preview_malformed") from error
    texts = grounded_texts(planned, form.texts, query.manifest, table)
    preview = preview_of(
        query.sql, result, planned.eligibility, texts=texts, bytes_max=form.bytes_max
    )
    if preview.quotes_names and not form.quotes_names:
        message = "a label of the recorded preview does not quote a name that is no plain word"
        raise OtherBuild(message, code="label_names_unquoted")
    if preview.canonical() != query.preview:
        message = "the recorded preview is not the one that its statement gives"
        raise InvalidSelection(message, code="preview_mismatch")
    return preview, planned


def grounded_texts(
    planned: Plan,
    told: tuple[LabelText, ...] | None,
    manifest: DatasetManifest,
    table: TableSchema,
) -> tuple[LabelText, ...]:
    """Return what the texts of labels rest on: rows as execution has it, measures as we have it.

    Raises:
        OtherBuild: the preview does not tell.
        InvalidSelection: it tells of other texts, or of a measure that nobody published.
    """
    wanted = planned.eligibility.texts
    if wanted and told is None:
        message = "the recorded preview does not tell what the texts of its labels rest on"
        raise OtherBuild(message, code="label_texts_missing")
    texts = told or ()
    if tuple(each.condition for each in texts) != wanted:
        message = "the recorded preview tells of other texts than those of its labels"
        raise InvalidSelection(message, code="preview_mismatch")
    claimed = {each.condition for each in texts if each.basis == "declared"}
    if claimed - declared_texts(claimed, (card.sql for card in manifest.cards), table):
        message = "a text of a label rests on a measure that was not published"
        raise InvalidSelection(message, code="label_text_undeclared")
    return texts


def _result_of(payload: bytes) -> tuple[Result, PreviewForm]:
    """Return a recorded result with the form that it states."""
    parsed = parse_json(payload)
    if canonical_bytes(parsed) != payload:
        message = "not canonical"
        raise ValueError(message)
    found = as_object(parsed)
    columns = tuple(
        (as_text(as_object(each)["name"]), as_text(as_object(each)["type"]))
        for each in as_items(found["columns"])
    )
    rows = tuple(row_of(each) for each in as_items(found["rows"]))
    if any(len(row) != len(columns) for row in rows):
        message = "a row has another number of cells"
        raise ValueError(message)
    truncated: Json = found["truncated"]
    return Result(columns, rows, truncated=truncated is True), form_of(found)
