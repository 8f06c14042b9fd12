"""Declarations of sources and datasets, the first ones and those that change something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from chancery.authority.errors import NotPermitted
from chancery.authority.names import Change, dataset_ref, source_ref
from chancery.authority.rights import Actor, require_kept, require_role, require_visible
from chancery.authority.states import DatasetState, ResourceState, SourceState, WorkspaceState
from chancery.authority.wording import check_name, check_wording
from chancery.events.authority import (
    AuthoritySet,
    DatasetDeclared,
    Declaration,
    Measure,
    SourceDeclared,
    Visibility,
    VisibilityChanged,
)
from chancery.events.commands import DeclareDataset, DeclareSource
from chancery.events.envelope import EventData
from chancery.kernel.errors import Rejected

_NOTHING_YET: Final = Declaration()


def decide_declare_source(
    actor: Actor,
    workspace: WorkspaceState | None,
    source: SourceState | None,
    command: DeclareSource,
) -> tuple[Change, ...]:
    """Declare a source, or change title, visibility or standing of a declared one.

    Visibility, standing and date that the command leaves out stay as they are.

    Raises:
        NotFound: for a workspace or source that the actor does not see.
        NotPermitted: unless the actor is a publisher, or for making somebody else's source private.
        UnreadableText: for a title that cannot be shown.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    check_name(command.title, field="title")
    events: list[EventData] = []
    if source is not None:
        _check_redeclared(actor, source, command)
    if source is None or source.title != command.title:
        events.append(_source_declared(actor, source, command))
    visibility = _visibility(source, command)
    if source is not None and source.visibility != visibility:
        events.append(VisibilityChanged(visibility=visibility))
    events.extend(_authority_set(source, command))
    ref = source_ref(command.workspace_id, command.source_id)
    return tuple(Change(ref, event) for event in events)


def decide_declare_dataset(
    actor: Actor,
    workspace: WorkspaceState | None,
    dataset: DatasetState | None,
    command: DeclareDataset,
) -> tuple[Change, ...]:
    """Declare a dataset, or change what the command says of a declared one.

    What it leaves out stays as it is; an empty part removes it.

    Raises:
        NotFound: for a workspace or dataset that the actor does not see.
        NotPermitted: unless the actor is a publisher, or for making somebody else's dataset
            private.
        UnreadableText: for a title or a measure that cannot be shown.
        Rejected: with code `duplicate_measure`, `measure_without_column` or
            `declaration_too_large`.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    if dataset is not None:
        _check_redeclared(actor, dataset, command)
    check_name(command.title, field="title")
    _check_measures(command.measures or ())
    declared = _dataset_declared(actor, dataset, command)
    if dataset is not None and _declaration(dataset) == declared:
        return ()
    return (Change(dataset_ref(command.workspace_id, command.dataset_id), declared),)


def _check_measures(measures: Sequence[Measure]) -> None:
    for number, measure in enumerate(measures):
        _check_measure(measure, f"measures.{number}")
    names = [measure.name.casefold() for measure in measures]
    if len(set(names)) != len(names):
        message = "two measures have one name; name each measure once"
        raise Rejected(message, field="measures", code="duplicate_measure")


def _check_measure(measure: Measure, place: str) -> None:
    if measure.column is None and measure.aggregate != "count":
        message = f"{place}.column must name what is calculated; only count does without"
        raise Rejected(message, field=f"{place}.column", code="measure_without_column")
    check_name(measure.name, field=f"{place}.name")
    check_wording(measure.description, field=f"{place}.description")
    for synonym in measure.synonyms:
        check_name(synonym, field=f"{place}.synonyms")


def _check_redeclared(
    actor: Actor, resource: ResourceState, command: DeclareSource | DeclareDataset
) -> None:
    require_visible(actor, resource)
    require_kept(resource)
    hides = command.visibility == "private" and resource.visibility != "private"
    if hides and resource.declarer != actor.principal_id:
        message = "only who declared it may make it private"
        raise NotPermitted(message, field="visibility")


def _source_declared(
    actor: Actor, source: SourceState | None, command: DeclareSource
) -> SourceDeclared:
    return SourceDeclared(
        workspace_id=command.workspace_id,
        source_id=command.source_id,
        title=command.title,
        visibility=_visibility(None, command) if source is None else source.visibility,
        declarer=actor.principal_id if source is None else source.declarer,
    )


def _dataset_declared(
    actor: Actor, dataset: DatasetState | None, command: DeclareDataset
) -> DatasetDeclared:
    """Return the whole declaration: what the command says, and what stays as it is."""
    held = _NOTHING_YET if dataset is None else dataset
    try:
        return DatasetDeclared(
            workspace_id=command.workspace_id,
            dataset_id=command.dataset_id,
            title=command.title,
            visibility=_visibility(dataset, command),
            declarer=actor.principal_id if dataset is None else dataset.declarer,
            columns=held.columns if command.columns is None else command.columns,
            row_filters=held.row_filters if command.row_filters is None else command.row_filters,
            measures=held.measures if command.measures is None else command.measures,
        )
    except ValidationError as error:  # Each part by itself was read before: only the sum is new.
        message = (
            "columns, row_filters and measures must take at most 192 KiB together, with those that"
            " the dataset has and the declaration leaves out"
        )
        raise Rejected(message, field="columns", code="declaration_too_large") from error


def _visibility(held: ResourceState | None, command: DeclareSource | DeclareDataset) -> Visibility:
    if command.visibility is not None:
        return command.visibility
    return "workspace" if held is None else held.visibility


def _authority_set(source: SourceState | None, command: DeclareSource) -> tuple[EventData, ...]:
    before = ("reference", None) if source is None else (source.authority, source.date)
    authority = command.authority or before[0]
    date = command.date or before[1]
    if (authority, date) == before:
        return ()
    return (AuthoritySet(authority=authority, date=date),)


def _declaration(dataset: DatasetState) -> DatasetDeclared:
    return DatasetDeclared(
        workspace_id=dataset.workspace_id,
        dataset_id=dataset.dataset_id,
        title=dataset.title,
        visibility=dataset.visibility,
        declarer=dataset.declarer,
        columns=dataset.columns,
        row_filters=dataset.row_filters,
        measures=dataset.measures,
    )
