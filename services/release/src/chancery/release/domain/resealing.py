"""The results of a sealed answer: what was sealed of them, and what running them again gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter, ValidationError

from chancery.attest.sealing import Place, ReleaseKey, SealBroken, unseal
from chancery.evidence.bundle import RowsRead
from chancery.evidence.citations import Citation, ValueCitation
from chancery.evidence.receipt import Execution, Receipt, ValueReference, result_references
from chancery.evidence.references import SnapshotPin, SourceReference, committed, pin_of
from chancery.evidence.salts import derive_salts, snapshot_salt
from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt, Rejected
from chancery.release.domain.held import HeldRelease
from chancery.release.errors import NotChecked, ResultFault
from chancery.tabular.preview import Preview, value_at

_CITATIONS: Final = TypeAdapter(tuple[Citation, ...])
_EXECUTIONS: Final = TypeAdapter(tuple[Execution, ...])


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it was stated, with the place of its cell in the preview."""

    place: ValueReference
    stated: ValueCitation


@dataclass(frozen=True, slots=True)
class SealedResult:
    """One executed query of a release; `cells` are the values that were stated of it."""

    number: int
    execution: Execution
    dataset: SourceReference
    pin: SnapshotPin
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the run stored of a query; `rows` is None when they were too many to be carried."""

    sql: bytes
    preview: bytes = field(repr=False)
    rows: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Again:
    """What running the query again on the pinned snapshot gave."""

    preview: Preview
    rows: RowsRead | None = field(repr=False)


def sealed_results(held: HeldRelease, receipt: Receipt, keys: ReleaseKey) -> list[SealedResult]:
    """Return the results of a release as its own content names them.

    Raises:
        NotChecked: the content does not open or has not its form.
        ResultFault: the receipt is about other executions, snapshots or values.
    """
    executions, citations = _opened(held, keys)
    core = receipt.core
    if result_references(executions, derive_salts(keys.salt, len(executions))) != core.results:
        raise ResultFault("result_differs", differs="executions")
    stated = [each for each in citations if isinstance(each, ValueCitation)]
    if len(stated) != len(core.values):
        raise ResultFault("result_differs", differs="values")
    cells = [Cell(*each) for each in zip(core.values, stated, strict=True)]
    datasets = {(each.key, each.revision): each for each in core.sources if each.kind == "dataset"}
    found: list[SealedResult] = []
    for number, execution in enumerate(executions):
        dataset = datasets.get((execution.key, execution.snapshot))
        pin = None if dataset is None else snapshot_of(dataset, execution, keys.salt)
        if dataset is None or pin is None:
            raise ResultFault("result_differs", differs="snapshot")
        own = tuple(each for each in cells if each.place.result == number)
        found.append(SealedResult(number, execution, dataset, pin, own))
    return found


def snapshot_of(dataset: SourceReference, execution: Execution, seed: bytes) -> SnapshotPin | None:
    """Return the plain hashes of a snapshot, None when the receipt is about other ones."""
    if execution.pin is None:
        return pin_of(dataset)
    plain = dataset.model_copy(update=dict(execution.pin))
    return execution.pin if committed(plain, snapshot_salt(seed)) == dataset else None


def differences(sealed: SealedResult, recorded: Recorded, again: Again) -> tuple[str, ...]:
    """Return what was sealed otherwise than the pinned snapshot gives it, each once."""
    found = [*_of_preview(recorded, again.preview), *_of_cells(sealed, again.preview)]
    if recorded.rows is not None:
        same = again.rows is not None and again.rows.to_bytes() == recorded.rows
        found += () if same else ("carried_rows",)
    return tuple(dict.fromkeys(found))


def _of_preview(recorded: Recorded, again: Preview) -> Iterator[str]:
    if recorded.sql != again.sql.encode():
        yield "query"
    made = again.canonical()
    if recorded.preview == made:
        return
    yield "preview"
    kept, new = _object(recorded.preview), _object(made)
    for name in sorted({*kept, *new}):
        if kept.get(name) != new.get(name):
            yield f"preview.{name}"


def _of_cells(sealed: SealedResult, again: Preview) -> Iterator[str]:
    for cell in sealed.cells:
        try:
            found = value_at(again, cell.place.row, cell.place.column)
        except Rejected as error:
            yield error.code
            continue
        pairs = {
            "value": (found.value, cell.stated.value),
            "type": (found.type, cell.stated.type),
            "label": (found.label, cell.stated.label),
        }
        yield from (name for name, (made, stated) in pairs.items() if made != stated)


def _opened(
    held: HeldRelease, keys: ReleaseKey
) -> tuple[tuple[Execution, ...], tuple[Citation, ...]]:
    try:
        return (
            _EXECUTIONS.validate_json(_content(held, keys, "executions")),
            _CITATIONS.validate_json(_content(held, keys, "citations")),
        )
    except ValidationError as error:
        raise _closed() from error


def _content(held: HeldRelease, keys: ReleaseKey, kind: str) -> bytes:
    ciphertext = held.contents.get((kind, 0))
    try:
        if ciphertext is not None:
            return unseal(keys, Place(held.tenant, held.release_id, kind, 0), ciphertext)
    except SealBroken as error:
        raise _closed() from error
    raise _closed()


def _closed() -> NotChecked:
    return NotChecked("the content of a release does not open", code="content_damaged")


def _object(payload: bytes) -> Mapping[str, Json]:
    try:
        parsed = parse_json(payload)
    except Corrupt:
        return {}
    return parsed if isinstance(parsed, Mapping) else {}
