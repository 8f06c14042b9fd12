"""What a search may cover of the things that its caller may use."""

from __future__ import annotations

from collections.abc import Iterable

from chancery.authority.states import DatasetState, FileState, ItemState, SourceState
from chancery.events.search import SearchKind, SearchRevision
from chancery.release.domain.entries import (
    Resource,
    index_state,
    missing_reason,
    name_of,
    title_of,
)


def search_revisions(usable: Iterable[Resource]) -> tuple[SearchRevision, ...]:
    """Return what serves of `usable` and has, or may come to have, passages in the index."""
    found = map(_revision, usable)
    return tuple(each for each in found if each is not None)


def _revision(resource: Resource) -> SearchRevision | None:
    """Return the revision that serves, made at once: up to a thousand are made for a search."""
    state, entry = resource.state, resource.entry
    if state is None or isinstance(state, DatasetState):
        return None
    serving = state.serving
    if serving is None:
        return None
    revision = state.revisions[serving - 1]
    if entry is not None and entry.content_sha256 != revision.content_sha256:
        entry = None
    indexed = index_state(entry)
    if indexed == "excluded":
        return None
    pinned = None if entry is None else entry.ready
    return SearchRevision(
        kind=_kind(state),
        key=resource.ref.id,
        id=name_of(resource.ref, state),
        title=title_of(state),
        revision=serving,
        media_type=revision.media_type,
        state=indexed,
        index_sequence=0 if entry is None else entry.sequence,
        reason=missing_reason(entry),
        extraction_sha256=None if pinned is None else pinned.extraction_sha256,
        manifest_sha256=None if pinned is None else pinned.manifest_sha256,
        version_id=state.versions[serving - 1].version_id if isinstance(state, ItemState) else None,
    )


def _kind(state: SourceState | ItemState | FileState) -> SearchKind:
    match state:
        case SourceState():
            return "source"
        case ItemState():
            return "item"
        case FileState():
            return "file"
