"""What a reader is told of curated items, private files and corpora."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from chancery.authority.names import AggregateRef
from chancery.authority.roots import roots_of
from chancery.authority.states import (
    CorpusState,
    DatasetState,
    Draft,
    FileState,
    ItemState,
    SourceState,
    Version,
)
from chancery.events.queries import (
    CorpusView,
    DraftView,
    FileView,
    IndexState,
    ItemSummary,
    ItemView,
    Unusable,
    VersionView,
)
from chancery.release.domain.entries import Resource, title_of
from chancery.release.domain.views import serving_state


def withdrawn_roots(evidence: Iterable[Resource]) -> frozenset[AggregateRef]:
    """Return which of these sources and datasets are withdrawn: no item on them is used."""
    return frozenset(
        each.ref
        for each in evidence
        if isinstance(each.state, SourceState | DatasetState) and each.state.withdrawn
    )


def item_summary(resource: Resource, withdrawn: Collection[AggregateRef]) -> ItemSummary:
    """Return what a reader may know of an item; what has no version is known by its drafts.

    `withdrawn` are those of its roots that no answer may rest on any more.
    """
    state = resource.state
    assert isinstance(state, ItemState)
    described = state.described
    index_state = serving_state(resource)
    reason = _unusable(state, index_state, withdrawn)
    return ItemSummary(
        id=state.item_id,
        key=resource.ref.id,
        title=title_of(state),
        visibility=state.visibility,
        kind="" if described is None else described.kind,
        domain="" if described is None else described.domain,
        tags=() if described is None else described.tags,
        version=len(state.versions),
        withdrawn=state.withdrawn,
        state=index_state,
        usable=reason is None,
        reason=reason,
    )


def item_view(
    resource: Resource, withdrawn: Collection[AggregateRef], *, drafts: Mapping[str, Draft]
) -> ItemView:
    """Return an item with its versions, and those of its drafts that are for the caller."""
    state = resource.state
    assert isinstance(state, ItemState)
    ordered = sorted(drafts.items(), key=lambda one: one[1].number)
    return ItemView(
        item=item_summary(resource, withdrawn),
        native_workspace_id=state.native_workspace_id,
        native_item_id=state.native_item_id,
        versions=tuple(_version(number, each) for number, each in enumerate(state.versions, 1)),
        drafts=tuple(_draft(name, each) for name, each in ordered),
    )


def file_view(resource: Resource) -> FileView:
    """Return a file as its owner sees it."""
    state = resource.state
    assert isinstance(state, FileState)
    entry = resource.entry
    return FileView(
        id=resource.ref.id,
        title=state.title,
        media_type=state.media_type,
        size_bytes=state.size_bytes,
        content_sha256=state.content_sha256,
        state=serving_state(resource),
        reason=None if entry is None else entry.reason,
    )


def corpus_view(ref: AggregateRef, state: CorpusState) -> CorpusView:
    """Return a corpus as it is declared now."""
    return CorpusView(
        id=state.corpus_id,
        key=ref.id,
        model=state.model,
        scope=state.scope,
        title=state.title,
        content=state.content,
        where=state.where,
        binding=state.binding,
        declaration_sha256=state.declaration_sha256,
    )


def _unusable(
    item: ItemState, index_state: IndexState | None, withdrawn: Collection[AggregateRef]
) -> Unusable | None:
    """Return why no answer rests on the item now, or None when one may."""
    if not item.versions:
        return "not_published"
    if item.withdrawn:
        return "withdrawn"
    if any(root in withdrawn for root in roots_of(item)):
        return "evidence_withdrawn"
    return None if index_state == "ready" else "not_ready"


def _version(number: int, version: Version) -> VersionView:
    return VersionView(
        version=number,
        version_id=version.version_id,
        operation_id=version.operation_id,
        native_workspace_id=version.native_workspace_id,
        native_item_id=version.native_item_id,
        native_version_id=version.native_version_id,
        title=version.title,
        kind=version.kind,
        domain=version.domain,
        tags=version.tags,
        author=version.author,
        committed_at=version.committed_at,
        content_sha256=version.content_sha256,
        size_bytes=version.size_bytes,
        evidence=version.evidence,
        evidence_sha256=version.evidence_sha256,
    )


def _draft(draft_id: str, draft: Draft) -> DraftView:
    return DraftView(
        draft_id=draft_id,
        title=draft.title,
        kind=draft.kind,
        domain=draft.domain,
        tags=draft.tags,
        author=draft.author,
        content_sha256=draft.content_sha256,
        size_bytes=draft.size_bytes,
        evidence=draft.evidence,
        evidence_sha256=draft.evidence_sha256,
    )
