"""What a selector proposed, judged by release's own records: the whole stands, or nothing does.

Ids have to be admitted and gathered, quotations byte-equal to the pinned extraction, values
cells of a preview whose statement passes the gate again and whose labels are those we derive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from chancery.authority.errors import ScopeTooWide
from chancery.authority.release import Pinned
from chancery.events.run import (
    Bounds,
    ProposedQuote,
    ProposedValue,
    RunGathered,
)
from chancery.evidence.answer import Fact, ValueFact
from chancery.evidence.context import is_too_much
from chancery.evidence.manifest import DatasetManifest
from chancery.evidence.quote import UnsupportedSelection
from chancery.evidence.receipt import Execution, ValueReference
from chancery.evidence.references import Reference
from chancery.evidence.scope import Scope, ScopeEntry
from chancery.kernel.errors import Rejected
from chancery.release.domain.documents import (
    Document,
    pin_of,
    quote_fact,
    reference_of,
    snapshot_pin,
)
from chancery.release.domain.recorded import Query, checked_preview
from chancery.release.domain.stated import check_stated
from chancery.release.errors import InvalidSelection, OtherBuild
from chancery.tabular import values
from chancery.tabular.plan import Plan
from chancery.tabular.preview import Preview, value_at
from chancery.tabular.schema import TableSchema, visible_columns

Selection = ProposedQuote | ProposedValue

QueryName: TypeAlias = tuple[str, str, str]
"""A dataset's key with the hashes of a statement and its preview."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The hashes that release pinned for a revision."""

    kind: str
    key: str
    extraction_sha256: str
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What release loaded by pinned hashes: documents by key, queries by `query_name`."""

    documents: Mapping[str, Document]
    queries: Mapping[QueryName, Query]


@dataclass(frozen=True, slots=True)
class Selected:
    """A sound selection: its facts in order, and what the receipt and the decision rest on."""

    facts: tuple[Fact, ...]
    references: tuple[Reference, ...]
    executions: tuple[Execution, ...]
    cells: tuple[ValueReference, ...]
    pinned: tuple[Pinned, ...]


def gathered_pins(scope: Scope, gathered: RunGathered) -> tuple[Pinned, ...]:
    """Return every revision that was gathered, cited or not; each has to be admitted as it is.

    Raises:
        InvalidSelection: something outside the scope, or with other hashes, was gathered.
    """
    pins: dict[tuple[str, str], Pinned] = {}
    for passage in gathered.passages:
        entry = scope.document(passage.key)
        if (
            entry is None
            or entry.revision != passage.revision
            or entry.extraction_sha256 != passage.extraction_sha256
        ):
            raise _not_admitted("a gathered passage")
        pins[entry.kind, passage.key] = pin_of(entry)
    for measure in gathered.measures:
        entry = scope.entry("dataset", measure.key)
        if (
            entry is None
            or entry.revision != measure.snapshot
            or entry.manifest_sha256 != measure.manifest_sha256
        ):
            raise _not_admitted("a gathered measure")
        pins["dataset", measure.key] = pin_of(entry)
    return tuple(pins[name] for name in sorted(pins))


def with_selected(pins: tuple[Pinned, ...], scope: Scope) -> tuple[Pinned, ...]:
    """Return `pins` with every resource of a scope that the caller selected one by one.

    What was selected decides whether retrieval found something in it or not.
    """
    known = {(pin.kind, pin.key): pin for pin in pins}
    for entry in scope.entries:
        name = (entry.kind, entry.key)
        known.setdefault(name, pin_of(entry))
    return tuple(known[name] for name in sorted(known))


def entries_used(
    scope: Scope, gathered: RunGathered, selections: Sequence[Selection]
) -> Iterator[tuple[Selection, ScopeEntry]]:
    """Yield each selection with its scope entry.

    Raises:
        InvalidSelection: one is not admitted, was not gathered, or has no pinned extraction.
        ScopeTooWide: more context was gathered than a request may supply.
    """
    if is_too_much([(each.key, (each.start, each.end)) for each in gathered.passages]):
        message = "more context was gathered than a request may supply"
        raise ScopeTooWide(message)
    parts = {(each.key, each.revision, each.part_id) for each in gathered.passages}
    datasets = {(each.key, each.snapshot) for each in gathered.measures}
    for selection in selections:
        if isinstance(selection, ProposedQuote):
            entry = scope.document(selection.key)
            revision = selection.revision
            known = (selection.key, revision, selection.part_id) in parts
        else:
            entry = scope.entry("dataset", selection.key)
            revision = selection.snapshot
            known = (selection.key, revision) in datasets
        if entry is None or not known or entry.revision != revision:
            raise _not_admitted("a selected fact")
        if entry.extraction_sha256 is None or entry.manifest_sha256 is None:
            raise _not_admitted("a selected fact")
        yield selection, entry


def select(
    tenant: str,
    used: Sequence[tuple[Selection, ScopeEntry]],
    evidence: Evidence,
    *,
    gathered: tuple[Pinned, ...],
    engine: str,
) -> Selected:
    """Return the facts that a selection states, each resolved from release's own records.

    Blocking: the SQL gate parses.

    Raises:
        OtherBuild: one fact comes from another build, so that nothing is known of it.
        UnsupportedSelection, InvalidSelection, Rejected: one fact does not stand up.
        AlteredText: stored evidence does not have its hash.
    """
    builder = _Builder(tenant, evidence, engine)
    for selection, entry in used:
        if isinstance(selection, ProposedQuote):
            builder.add_quote(selection, entry)
        else:
            builder.add_value(selection, entry)
    return builder.result(gathered)


def check_bounds(bounds: Bounds, used: Sequence[tuple[Selection, ScopeEntry]]) -> None:
    """Refuse a selection that rests on fewer or more sources than the caller allows.

    Raises:
        InvalidSelection: with code `too_few_sources` or `too_many_sources`.
    """
    count = len({(entry.kind, entry.key) for _, entry in used})
    if count < bounds.min_sources:
        message = "the selection rests on fewer sources than bounds.min_sources"
        raise InvalidSelection(message, field="bounds.min_sources", code="too_few_sources")
    if count > bounds.max_sources:
        message = "the selection rests on more sources than bounds.max_sources"
        raise InvalidSelection(message, field="bounds.max_sources", code="too_many_sources")


def visible_table(entry: ScopeEntry, manifest: DatasetManifest) -> TableSchema:
    """Return the table that the caller may see: the dataset's columns without the hidden ones."""
    return TableSchema(entry.id, visible_columns(manifest.columns, entry.hidden_columns))


def query_name(selection: ProposedValue) -> QueryName:
    """Return what a value's query goes by: the same statement over another dataset is another."""
    return (selection.key, selection.query_sha256, selection.preview_sha256)


class _Builder:
    """Collects facts, and each query and dataset once."""

    def __init__(self, tenant: str, evidence: Evidence, engine: str) -> None:
        self._tenant = tenant
        self._evidence = evidence
        self._engine = engine
        self._facts: list[Fact] = []
        self._references: dict[tuple[str, str], Reference] = {}
        self._executions: list[Execution] = []
        self._previews: dict[QueryName, tuple[Preview, Plan]] = {}
        self._cells: list[ValueReference] = []
        self._columns: dict[str, set[str]] = {}
        self._filters: dict[str, ScopeEntry] = {}

    def add_quote(self, selection: ProposedQuote, entry: ScopeEntry) -> None:
        """Resolve a quotation from the pinned text."""
        document = self._evidence.documents[selection.key]
        self._facts.append(quote_fact(self._tenant, selection, entry, document))
        self._use(entry)

    def add_value(self, selection: ProposedValue, entry: ScopeEntry) -> None:
        """Derive a value's label and eligibility again and take its cell."""
        if selection.engine not in {None, self._engine}:
            message = "the value was made by another engine than the one that its receipt can name"
            raise OtherBuild(message, code="engine_mismatch")
        preview, planned = self._preview(query_name(selection), entry)
        value = value_at(preview, selection.row, selection.column)
        check_stated(value, planned.tables)
        execution = Execution(
            key=entry.key,
            snapshot=entry.revision,
            engine=self._engine,
            query_sha256=selection.query_sha256,
            preview_sha256=selection.preview_sha256,
            rows_sha256=selection.rows_sha256,
            pin=snapshot_pin(entry),
        )
        if execution not in self._executions:
            self._executions.append(execution)
        fact = ValueFact(
            tenant=self._tenant,
            key=entry.key,
            dataset_id=entry.id,
            title=entry.title,
            snapshot=entry.revision,
            query_sha256=selection.query_sha256,
            row=selection.row,
            column=selection.column,
            label=value.label,
            type=value.type,
            value=value.value,
            display=values.display(value.value, value.type),
        )
        self._facts.append(fact)
        self._cells.append(
            ValueReference(
                fact_id=fact.id,
                result=self._executions.index(execution),
                row=selection.row,
                column=selection.column,
            )
        )
        self._columns.setdefault(entry.key, set()).update(planned.reads.get(entry.id, ()))
        self._filters[entry.key] = entry
        self._use(entry)

    def result(self, gathered: tuple[Pinned, ...]) -> Selected:
        """Return everything that was collected; a queried dataset is pinned with its columns."""
        return Selected(
            tuple(self._facts),
            tuple(self._references[name] for name in sorted(self._references)),
            tuple(self._executions),
            tuple(self._cells),
            tuple(self._with_columns(pin) for pin in gathered),
        )

    def _preview(self, name: QueryName, entry: ScopeEntry) -> tuple[Preview, Plan]:
        if name not in self._previews:
            query = self._evidence.queries[name]
            table = visible_table(entry, query.manifest)
            self._previews[name] = checked_preview(query, table)
        return self._previews[name]

    def _use(self, entry: ScopeEntry) -> None:
        self._references[entry.kind, entry.key] = reference_of(entry)

    def _with_columns(self, pin: Pinned) -> Pinned:
        entry = self._filters.get(pin.key)
        if pin.kind != "dataset" or entry is None:
            return pin
        columns = tuple(sorted(self._columns[pin.key]))
        return Pinned(pin.kind, pin.key, pin.revision, columns, entry.row_filters)


def is_selection_error(error: Rejected) -> bool:
    """Tell whether an error means that the proposal is unsound, not that something is away."""
    return isinstance(error, InvalidSelection | UnsupportedSelection) or error.field in {
        "sql",
        "row",
        "column",
        "preview",
    }


def _not_admitted(noun: str) -> InvalidSelection:
    return InvalidSelection(f"{noun} is not part of the run's scope", code="not_admitted")
