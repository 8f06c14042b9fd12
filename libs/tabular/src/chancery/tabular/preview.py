"""The immutable preview of a result: what a model may see and an answer may quote (CR-22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex
from chancery.kernel.errors import Corrupt, Rejected
from chancery.tabular.clauses import Reason
from chancery.tabular.eligibility import Eligibility, Native, label_of
from chancery.tabular.labels import LabelText, read_texts, text_json, ungrounded
from chancery.tabular.refusals import refusal

ROWS_MAX = 50
PREVIEW_BYTES_MAX = 64 * 1024
"""The budget of a preview that states no other."""

BUDGET_BYTES_MIN = 16 * 1024
"""The statement stands in the preview too, and may take 8 KiB."""

BUDGET_BYTES_MAX = 256 * 1024
"""The page of a raw result has to fit into one message of 1 MiB, written as JSON inside JSON."""

LABEL_TEXTS = "label_texts"
"""The field of a preview that tells what the texts of its labels rest on."""

LABEL_NAMES = "label_names"
"""The field of a preview that says `quoted` when a label quotes a name that is no plain word."""

_QUOTED = "quoted"

Row = tuple[str | None, ...]
"""Canonical texts in column order, None for NULL."""


@dataclass(frozen=True, slots=True)
class PreviewColumn:
    """A result column: the statement's name for it, its DuckDB type, its label if eligible."""

    name: str
    label: str | None
    type: str
    eligible: bool
    reason: Reason | None
    native: Native | None


@dataclass(frozen=True, slots=True)
class Preview:
    """The rows of a result from `offset` on. `truncated` says that more existed than is carried.

    An answer rests on previews of the first rows only: those have no offset. `bytes_max` is the
    budget that the rows were cut to; the canonical JSON states one that is not 64 KiB. `texts` are
    those that labels would repeat; the canonical JSON leaves them out where there are none.
    """

    sql: str
    columns: tuple[PreviewColumn, ...]
    rows: tuple[Row, ...]
    truncated: bool
    offset: int = 0
    bytes_max: int = PREVIEW_BYTES_MAX
    texts: tuple[LabelText, ...] = ()

    @property
    def quotes_names(self) -> bool:
        """Tell whether a label quotes a name; the canonical JSON says so only then."""
        return any(
            each.native is not None and each.label != label_of(each.native, bare=True)
            for each in self.columns
        )

    def canonical(self) -> bytes:
        """Return the canonical JSON that is hashed, stored and compared."""
        columns: list[Json] = [_column_json(each) for each in self.columns]
        rows: list[Json] = [list(row) for row in self.rows]
        page: Mapping[str, Json] = {"offset": self.offset} if self.offset else {}
        is_usual = self.bytes_max == PREVIEW_BYTES_MAX
        budget: Mapping[str, Json] = {} if is_usual else {"bytes_max": self.bytes_max}
        found: list[Json] = [text_json(each) for each in self.texts]
        told: Mapping[str, Json] = {LABEL_TEXTS: found} if found else {}
        return canonical_bytes(
            {
                "sql": self.sql,
                "columns": columns,
                "rows": rows,
                "truncated": self.truncated,
                **page,
                **budget,
                **told,
                **({LABEL_NAMES: _QUOTED} if self.quotes_names else {}),
            }
        )

    @property
    def preview_sha256(self) -> str:
        """Return the SHA-256 of the canonical JSON."""
        return sha256_hex(self.canonical())


@dataclass(frozen=True, slots=True)
class NativeValue:
    """A value an answer may state: canonical text (None for NULL), type, label and native fact."""

    value: str | None
    type: str
    label: str
    native: Native


@dataclass(frozen=True, slots=True)
class Result:
    """What the worker returned: (name, DuckDB type) per column and the first rows.

    `occurring` says of each text that a label would repeat whether the rows have it.
    """

    columns: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]
    truncated: bool
    occurring: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewForm:
    """What a recorded preview states of how it was made: its byte budget, texts and names.

    An older build told nothing of the texts in its labels: then `texts` is None. One that quoted no
    names, or had none to quote, says nothing of them: then `quotes_names` is False.
    """

    bytes_max: int = PREVIEW_BYTES_MAX
    texts: tuple[LabelText, ...] | None = ()
    quotes_names: bool = True


def preview_of(
    sql: str,
    result: Result,
    judged: Eligibility,
    *,
    texts: Sequence[LabelText] = (),
    bytes_max: int = PREVIEW_BYTES_MAX,
    offset: int = 0,
    quotes_names: bool = True,
) -> Preview:
    """Return the preview of a result, cut to `ROWS_MAX` rows and `bytes_max` canonical bytes.

    A column whose label would repeat one of the `texts` that rests on nothing is not eligible.
    Without `quotes_names` the labels are those of an older build.

    Raises:
        Rejected: `preview_too_large` when the columns alone exceed the budget.
    """
    judged = judged.without(ungrounded(texts))
    bare = Preview(
        sql,
        _columns(result, judged if quotes_names else judged.with_bare_names()),
        (),
        truncated=False,
        offset=offset,
        bytes_max=bytes_max,
        texts=tuple(texts),
    )
    size_bytes = len(bare.canonical())
    if size_bytes > bytes_max:
        raise refusal("preview_too_large")
    rows: list[Row] = []
    for row in result.rows[:ROWS_MAX]:
        size_bytes += len(canonical_bytes(list(row))) + (1 if rows else 0)
        if size_bytes > bytes_max:
            break
        rows.append(row)
    truncated = result.truncated or len(rows) < len(result.rows)
    return replace(bare, rows=tuple(rows), truncated=truncated)


def budget_of(preview: Mapping[str, Json]) -> int:
    """Return the byte budget that a recorded preview was cut to; without a word of it, 64 KiB.

    Raises:
        Rejected: `preview_budget` for one that no execution may be set to.
    """
    stated = preview.get("bytes_max", PREVIEW_BYTES_MAX)
    if isinstance(stated, int) and BUDGET_BYTES_MIN <= stated <= BUDGET_BYTES_MAX:
        return stated
    detail = "the preview states a byte budget that no execution may be set to"
    raise Rejected(detail, field="preview", code="preview_budget")


def form_of(preview: Mapping[str, Json]) -> PreviewForm:
    """Return the form of a recorded preview, to make it again in the same one.

    Raises:
        Rejected: as `budget_of`; `preview_label_texts` or `preview_label_names` when what it tells
            of the texts or names of its labels has not its form.
    """
    budget, told, names = budget_of(preview), preview.get(LABEL_TEXTS), preview.get(LABEL_NAMES)
    if names is not None and names != _QUOTED:
        detail = "the preview does not tell how its labels write names"
        raise Rejected(detail, field="preview", code="preview_label_names")
    try:
        texts = None if told is None else read_texts(told)
        return PreviewForm(budget, texts, quotes_names=names is not None)
    except (Corrupt, KeyError) as error:
        detail = "the preview does not tell what the texts of its labels rest on"
        raise Rejected(detail, field="preview", code="preview_label_texts") from error


def value_at(preview: Preview, row: int, column: int) -> NativeValue:
    """Return the value at zero-based (`row`, `column`) of a preview.

    Raises:
        Rejected: `value_out_of_range` or `value_ineligible`.
    """
    if not (0 <= row < len(preview.rows) and 0 <= column < len(preview.columns)):
        detail = "the selected value lies outside the recorded preview"
        raise Rejected(detail, field="row", code="value_out_of_range")
    found = preview.columns[column]
    if not found.eligible or found.label is None or found.native is None:
        detail = "the selected column is not a native fact and cannot be stated"
        raise Rejected(detail, field="column", code="value_ineligible")
    return NativeValue(preview.rows[row][column], found.type, found.label, found.native)


def _columns(result: Result, judged: Eligibility) -> tuple[PreviewColumn, ...]:
    count = len(result.columns)
    found: list[PreviewColumn] = []
    for index, (name, duckdb_type) in enumerate(result.columns):
        each = judged.column(index, name, count)
        found.append(
            PreviewColumn(name, each.label, duckdb_type, each.eligible, each.reason, each.native)
        )
    return tuple(found)


def _column_json(column: PreviewColumn) -> Json:
    return {
        "name": column.name,
        "label": column.label,
        "type": column.type,
        "eligible": column.eligible,
        "reason": column.reason,
        "native": None if column.native is None else native_json(column.native),
    }


def native_json(native: Native) -> Json:
    """Return the JSON form of a native fact."""
    where: Sequence[Json] = [
        {"column": each.column, "literal": each.literal} for each in native.where
    ]
    return {
        "table": native.table,
        "column": native.column,
        "aggregate": native.aggregate,
        "where": where,
    }
