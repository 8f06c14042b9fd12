"""What a reader is told of a source or dataset, and of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from chancery.authority.access import ColumnView
from chancery.authority.names import AggregateRef
from chancery.authority.states import DatasetState, FileState, SourceState
from chancery.events.authority import Measure
from chancery.events.days import known_day
from chancery.events.queries import IndexState, PinnedRevision, ResourceView, ToldHashes
from chancery.evidence.coverage import CoverageReport
from chancery.kernel.canonical import Json
from chancery.kernel.clock import to_text
from chancery.release.domain.entries import (
    Resource,
    Usable,
    index_state,
    kind_of,
    name_of,
    title_of,
)
from chancery.release.domain.index_fold import IndexEntry
from chancery.release.domain.runs import Run


def resource_view(resource: Resource, view: ColumnView | None = None) -> ResourceView:
    """Return what a reader may know of a source or dataset; of a dataset, as `view` lets them."""
    state = resource.state
    assert isinstance(state, SourceState | DatasetState)
    is_source = isinstance(state, SourceState)
    return ResourceView(
        kind="source" if is_source else "dataset",
        id=state.source_id if is_source else state.dataset_id,
        title=state.title,
        visibility=state.visibility,
        authority=state.authority if is_source else "reference",
        date=known_day(state.date) if is_source else None,
        revision=len(state.revisions),
        media_type=state.revisions[-1].media_type if state.revisions else None,
        withdrawn=state.withdrawn,
        state=serving_state(resource),
        measures=() if is_source else _measures(state, view),
    )


def serving_state(resource: Resource) -> IndexState | None:
    """Return the index state of what serves, or None when nothing does."""
    state = resource.state
    if state is None or state.serving is None:
        return None
    return index_state(_entry_of(resource))


def pinned_revision(
    ref: AggregateRef,
    state: Usable,
    revision: int,
    *,
    entry: IndexEntry | None,
    view: ColumnView | None,
) -> PinnedRevision:
    """Return one revision with its pinned hashes; a withdrawn one has no extraction to read."""
    published = state.revisions[revision - 1]
    if entry is not None and entry.content_sha256 != published.content_sha256:
        entry = None
    if _is_withdrawn(state):
        entry = None if entry is None else replace(entry, ready=None, extractions=())
    serves = revision == state.serving
    pinned = None
    if entry is not None:
        pinned = entry.ready if serves else next(iter(entry.extractions), None)
    reason = None if entry is None else entry.reason
    return PinnedRevision(
        kind=kind_of(state),
        key=ref.id,
        id=name_of(ref, state),
        title=title_of(state),
        revision=revision,
        content_sha256=published.content_sha256,
        media_type=published.media_type,
        size_bytes=published.size_bytes,
        state=index_state(entry) if serves else "excluded",
        reason=reason if serves else _why_not_serving(state),
        field=entry.field if entry is not None and serves else None,
        attempt=entry.attempt if entry is not None and serves else None,
        extraction_sha256=None if pinned is None else pinned.extraction_sha256,
        manifest_sha256=None if pinned is None else pinned.manifest_sha256,
        hidden_columns=() if view is None else view.hidden,
        row_filters=() if view is None else view.row_filters,
    )


def as_told(pinned: PinnedRevision, *, tells_why: bool) -> PinnedRevision:
    """Leave out why it failed, or is not there yet, for whoever may not be told."""
    is_missing = pinned.state in {"pending", "failed", "unavailable"}
    if not is_missing or tells_why:
        return pinned
    return pinned.model_copy(update={"reason": None, "field": None, "attempt": None})


def told_hashes(key: bytes, tenant: str, pinned: PinnedRevision) -> ToldHashes | None:
    """Return what a caller is told in the place of the hashes, None when they hide nothing."""
    if not (pinned.hidden_columns or pinned.row_filters):
        return None

    def told(sha256: str) -> str:
        named = f"{tenant}\n{pinned.key}\n{sha256}".encode()
        return hashlib.blake2b(named, key=key, digest_size=32).hexdigest()

    extraction, manifest = pinned.extraction_sha256, pinned.manifest_sha256
    return ToldHashes(
        content_sha256=told(pinned.content_sha256),
        extraction_sha256=None if extraction is None else told(extraction),
        manifest_sha256=None if manifest is None else told(manifest),
    )


def run_view(
    run: Run, *, coverage: CoverageReport | None = None, is_answered: bool = False
) -> Mapping[str, Json]:
    """Return a run as its caller sees it: progress and handles, no content."""
    handle: Json = {"run_id": run.run_id, "generation": run.generation}
    return {
        "run_id": run.run_id,
        "generation": run.generation,
        "workspace_id": run.workspace_id,
        "source": run.conversation_id,
        "revision": run.message,
        "sequence": run.events,
        "state": run.state,
        "mode": run.mode,
        "bounds": run.bounds.model_dump(mode="json"),
        "deadline": to_text(run.deadline),
        "coverage": None if coverage is None else coverage.to_json(),
        "answer": handle if is_answered else None,
        "usage": None,
        "detail": run.detail,
    }


def _measures(state: DatasetState, view: ColumnView | None) -> tuple[Measure, ...]:
    hidden = () if view is None else view.hidden_measures
    return tuple(each for each in state.measures if each.name not in hidden)


def _entry_of(resource: Resource) -> IndexEntry | None:
    state, entry = resource.state, resource.entry
    if state is None or state.serving is None or entry is None:
        return None
    served = state.revisions[state.serving - 1].content_sha256
    return entry if entry.content_sha256 == served else None


def _is_withdrawn(state: Usable) -> bool:
    return state.deleted if isinstance(state, FileState) else state.withdrawn


def _why_not_serving(state: Usable) -> str:
    return "withdrawn" if _is_withdrawn(state) else "superseded"
