"""Folds of sources and datasets."""

from __future__ import annotations

from chancery.authority.changed import changed
from chancery.authority.grants import granted, ungranted
from chancery.authority.rules import existing, foreign, require
from chancery.authority.states import DatasetState, ResourceState, Revision, SourceState
from chancery.events.authority import (
    AuthoritySet,
    DatasetDeclared,
    DatasetGranted,
    DatasetGrantRevoked,
    DatasetWithdrawn,
    RevisionPublished,
    RevisionWithdrawn,
    SnapshotPublished,
    SourceDeclared,
    SourceErased,
    SourceGranted,
    SourceGrantRevoked,
    SourceRestored,
    VisibilityChanged,
)
from chancery.events.envelope import EventData


def evolve_source(state: SourceState | None, data: EventData) -> SourceState:
    """Return the source after `data`."""
    require("an erased source takes no event", holds=state is None or not state.erased)
    if isinstance(data, SourceDeclared):
        return _declare_source(state, data)
    before = existing(state)
    # What happens most often stands first.
    match data:
        case SourceGranted():
            return changed(before, grants=granted(before.grants, data.grantee))
        case RevisionPublished():
            revisions = _next(before, data.revision, _revision(data))
            return changed(before, revisions=revisions, withdrawn=False)
        case SourceGrantRevoked():
            return changed(before, grants=ungranted(before.grants, data.grantee))
        case _:
            return _evolve_rarely(before, data)


def _evolve_rarely(before: SourceState, data: EventData) -> SourceState:
    match data:
        case AuthoritySet():
            return changed(before, authority=data.authority, date=data.date)
        case VisibilityChanged():
            require("visibility changes", holds=data.visibility != before.visibility)
            return changed(before, visibility=data.visibility)
        case RevisionWithdrawn():
            require("only a serving source is withdrawn", holds=before.serving is not None)
            return changed(before, withdrawn=True)
        case SourceRestored():
            require("only a withdrawn source is restored", holds=before.withdrawn)
            return changed(before, withdrawn=False)
        case SourceErased():
            return changed(before, withdrawn=True, erased=True)
        case _:
            raise foreign(data)


def evolve_dataset(state: DatasetState | None, data: EventData) -> DatasetState:
    """Return the dataset after `data`."""
    if isinstance(data, DatasetDeclared):
        return _declare_dataset(state, data)
    before = existing(state)
    match data:
        case SnapshotPublished():
            revisions = _next(before, data.snapshot, _revision(data))
            return changed(before, revisions=revisions, withdrawn=False)
        case DatasetWithdrawn():
            require("only a serving dataset is withdrawn", holds=before.serving is not None)
            return changed(before, withdrawn=True)
        case DatasetGranted():
            return changed(before, grants=granted(before.grants, data.grantee))
        case DatasetGrantRevoked():
            return changed(before, grants=ungranted(before.grants, data.grantee))
        case _:
            raise foreign(data)


def _declare_source(state: SourceState | None, data: SourceDeclared) -> SourceState:
    if state is None:
        return SourceState(
            workspace_id=data.workspace_id,
            source_id=data.source_id,
            title=data.title,
            visibility=data.visibility,
            declarer=data.declarer,
            grants=(data.declarer,),
        )
    same = (state.workspace_id, state.source_id) == (data.workspace_id, data.source_id)
    require("a source keeps workspace and id", holds=same)
    require("a source keeps its declarer", holds=state.declarer == data.declarer)
    return changed(state, title=data.title, visibility=data.visibility)


def _declare_dataset(state: DatasetState | None, data: DatasetDeclared) -> DatasetState:
    if state is not None:
        same = (state.workspace_id, state.dataset_id) == (data.workspace_id, data.dataset_id)
        require("a dataset keeps workspace and id", holds=same)
        require("a dataset keeps its declarer", holds=state.declarer == data.declarer)
    return DatasetState(
        workspace_id=data.workspace_id,
        dataset_id=data.dataset_id,
        title=data.title,
        visibility=data.visibility,
        declarer=data.declarer,
        grants=(data.declarer,) if state is None else state.grants,
        revisions=() if state is None else state.revisions,
        withdrawn=False if state is None else state.withdrawn,
        columns=data.columns,
        row_filters=data.row_filters,
        measures=data.measures,
    )


def _revision(data: RevisionPublished | SnapshotPublished) -> Revision:
    return Revision(data.content_sha256, data.media_type, data.size_bytes)


def _next(state: ResourceState, number: int, revision: Revision) -> tuple[Revision, ...]:
    gapless = number == len(state.revisions) + 1
    require("revisions count from 1 without a gap", holds=gapless)
    return (*state.revisions, revision)
