"""Declarations of sources and datasets, the first ones and those that change something."""

from __future__ import annotations

from chancery.authority.errors import NotPermitted
from chancery.authority.names import Change, dataset_ref, source_ref
from chancery.authority.rights import Actor, require_kept, require_role, require_visible
from chancery.authority.states import DatasetState, ResourceState, SourceState, WorkspaceState
from chancery.authority.wording import check_name, check_wording
from chancery.events.authority import (
    AuthoritySet,
    DatasetDeclared,
    Measure,
    SourceDeclared,
    VisibilityChanged,
)
from chancery.events.commands import DeclareDataset, DeclareSource
from chancery.events.envelope import EventData
from chancery.kernel.errors import Rejected


def decide_declare_source(
    actor: Actor,
    workspace: WorkspaceState | None,
    source: SourceState | None,
    command: DeclareSource,
) -> tuple[Change, ...]:
    """Declare a source, or change title, visibility or standing of a declared one.

    Standing and date that the command leaves out stay as they are.

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
    if source is not None and source.visibility != command.visibility:
        events.append(VisibilityChanged(visibility=command.visibility))
    events.extend(_authority_set(source, command))
    ref = source_ref(command.workspace_id, command.source_id)
    return tuple(Change(ref, event) for event in events)


def decide_declare_dataset(
    actor: Actor,
    workspace: WorkspaceState | None,
    dataset: DatasetState | None,
    command: DeclareDataset,
) -> tuple[Change, ...]:
    """Declare a dataset, or replace the whole declaration of a declared one.

    Raises:
        NotFound: for a workspace or dataset that the actor does not see.
        NotPermitted: unless the actor is a publisher, or for making somebody else's dataset
            private.
        UnreadableText: for a title or a measure that cannot be shown.
        Rejected: with code `duplicate_measure` or `measure_without_column`.
    """
    require_role(actor, command.workspace_id, workspace, "publisher")
    if dataset is not None:
        _check_redeclared(actor, dataset, command)
    check_name(command.title, field="title")
    for number, measure in enumerate(command.measures):
        _check_measure(measure, f"measures.{number}")
    names = [measure.name.casefold() for measure in command.measures]
    if len(set(names)) != len(names):
        message = "two measures have one name; name each measure once"
        raise Rejected(message, field="measures", code="duplicate_measure")
    declared = DatasetDeclared(
        workspace_id=command.workspace_id,
        dataset_id=command.dataset_id,
        title=command.title,
        visibility=command.visibility,
        declarer=actor.principal_id if dataset is None else dataset.declarer,
        columns=command.columns,
        row_filters=command.row_filters,
        measures=command.measures,
    )
    if dataset is not None and _declaration(dataset) == declared:
        return ()
    return (Change(dataset_ref(command.workspace_id, command.dataset_id), declared),)


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
        visibility=command.visibility if source is None else source.visibility,
        declarer=actor.principal_id if source is None else source.declarer,
    )


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
