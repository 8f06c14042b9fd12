"""The checks of values: the cell of the recorded preview, and the query run again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from chancery.evidence.answer import Statement, value_text
from chancery.evidence.bundle import Bundle, ResultProof, RowsRead
from chancery.evidence.citations import ValueCitation
from chancery.evidence.receipt import ResultReference, ValueReference
from chancery.kernel.canonical import Json, canonical_bytes, sha256_hex
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.tabular.jobs import RowTable
from chancery.tabular.preview import PreviewForm, form_of
from chancery.tabular.reexecute import reexecute
from chancery.tabular.refusals import is_of_gate
from chancery.tabular.schema import TableSchema, column_of
from chancery.tabular.values import display, display_bare
from chancery.verify.report import Check, compared, mismatch, uncheckable

_LIMITS_OF_THIS_MACHINE: Final = frozenset({"sql_timeout", "sql_resources"})
_USUAL_FORM: Final = PreviewForm()


class Reexecution(Protocol):
    """Runs canonical SQL over the carried rows and returns the preview's canonical JSON."""

    def __call__(self, sql: str, rows: RowsRead, *, form: PreviewForm) -> bytes:
        """Return the preview's bytes, in the form of the recorded one.

        Raises:
            ChanceryError: the query does not run.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Cell:
    label: str
    type: str
    value: str | None


def execute_in_duckdb(sql: str, rows: RowsRead, *, form: PreviewForm = _USUAL_FORM) -> bytes:
    """Return the preview of `sql` over `rows`, from the same gate and worker that made it."""
    columns = tuple(column_of(name, duckdb_type) for name, duckdb_type in rows.columns)
    table = RowTable(TableSchema(rows.table, columns), rows.rows)
    return reexecute(sql, [table], form=form).canonical()


def value_checks(bundle: Bundle, run: Reexecution) -> Iterator[Check]:
    """Yield one check per result that is run again, then one per value."""
    for number, proof in enumerate(bundle.results):
        named = _datasets(bundle.receipt.core.results[number : number + 1], bundle)
        yield _execution_check(f"execution[{number}]", proof, named, run)
    stated = [
        (number, statement, citation)
        for number, (statement, citation) in enumerate(
            zip(bundle.statements, bundle.citations, strict=False), start=1
        )
        if isinstance(citation, ValueCitation)
    ]
    references = bundle.receipt.core.values
    if len(references) != len(stated):
        yield mismatch("values", "the receipt names other values than the statements state")
        return
    for (number, statement, citation), reference in zip(stated, references, strict=True):
        problems = list(_value_problems(bundle, statement, citation, reference))
        yield compared(f"value[{number}]", problems, "the cell of the recorded preview")


def _execution_check(
    name: str, proof: ResultProof, datasets: Collection[str], run: Reexecution
) -> Check:
    if proof.rows is None:
        return uncheckable(name, "the rows that the query read are not carried")
    if proof.rows.table not in datasets:
        return mismatch(name, "the carried rows are of another dataset than the result")
    try:
        preview = run(proof.sql, proof.rows, form=form_of(proof.preview))
    except ChanceryError as error:
        if isinstance(error, Unavailable) or error.code in _LIMITS_OF_THIS_MACHINE:
            return uncheckable(name, f"the query could not be run here: {error.code}")
        if is_of_gate(error.code):
            return uncheckable(name, f"this version does not accept the query: {error.code}")
        return mismatch(name, f"the query does not run over the carried rows: {error.code}")
    same = preview == canonical_bytes(proof.preview)
    problems = [] if same else ["the query gives another result over the carried rows"]
    return compared(name, problems, f"run again over {len(proof.rows.rows)} carried rows")


def _value_problems(
    bundle: Bundle, statement: Statement, citation: ValueCitation, reference: ValueReference
) -> Iterator[str]:
    if reference.fact_id != statement.id or reference.result >= len(bundle.results):
        yield "the receipt names another fact or no result"
        return
    result = bundle.receipt.core.results[reference.result : reference.result + 1]
    if not _is_of(result, bundle, citation):
        yield "the result is of another dataset or snapshot"
    preview = bundle.results[reference.result].preview
    if _table(preview, reference.column) != citation.dataset_id:
        yield "the preview is of another dataset than the citation"
    cell = _cell(preview, reference.row, reference.column)
    if cell is None:
        yield "the preview has no eligible cell in that place"
        return
    if (cell.label, cell.type, cell.value) != (citation.label, citation.type, citation.value):
        yield "label, type or value are not those of the preview"
    # What was sealed by a build that quoted no texts verifies as before.
    forms = (display(cell.value, cell.type), display_bare(cell.value, cell.type))
    texts = {value_text(cell.label, each) for each in forms}
    if statement.text not in texts or sha256_hex(statement.text.encode()) != citation.sha256:
        yield "the statement does not state the value of the preview"


def _is_of(results: Sequence[ResultReference], bundle: Bundle, citation: ValueCitation) -> bool:
    named = {
        (source.key, source.revision)
        for source in bundle.receipt.core.sources
        if source.kind == "dataset" and source.id == citation.dataset_id
    }
    return all(
        (result.key, result.snapshot) in named and result.snapshot == citation.snapshot
        for result in results
    )


def _datasets(results: Sequence[ResultReference], bundle: Bundle) -> set[str]:
    """Return the ids under which the receipt knows the datasets of `results`."""
    named = {(result.key, result.snapshot) for result in results}
    return {
        source.id
        for source in bundle.receipt.core.sources
        if source.kind == "dataset" and (source.key, source.revision) in named
    }


def _table(preview: Mapping[str, Json], column: int) -> Json:
    """Return the table that a column of the preview is a native fact of."""
    found = _item(preview.get("columns"), column)
    native = found.get("native") if isinstance(found, Mapping) else None
    return native.get("table") if isinstance(native, Mapping) else None


def _cell(preview: Mapping[str, Json], row: int, column: int) -> _Cell | None:
    columns, rows = preview.get("columns"), preview.get("rows")
    found = _item(columns, column)
    value = _item(_item(rows, row), column)
    if not isinstance(found, Mapping) or found.get("eligible") is not True:
        return None
    label, kind = found.get("label"), found.get("type")
    if not (isinstance(label, str) and isinstance(kind, str)):
        return None
    return _Cell(label, kind, value) if value is None or isinstance(value, str) else None


def _item(items: Json, index: int) -> Json:
    if isinstance(items, Sequence) and not isinstance(items, str) and index < len(items):
        return items[index]
    return None
