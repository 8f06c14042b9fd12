"""Folds of curated items, corpora and private files."""

from __future__ import annotations

from chancery.authority.changed import changed
from chancery.authority.grants import granted, ungranted
from chancery.authority.rules import existing, foreign, require
from chancery.authority.states import CorpusState, Draft, FileState, ItemState, Version
from chancery.events.authority_knowledge import (
    CorpusDeclared,
    DraftSaved,
    FileDeleted,
    FileUploaded,
    ItemGranted,
    ItemGrantRevoked,
    ItemWithdrawn,
    VersionPublished,
    declaration_hash,
    evidence_hash,
    ordered,
)
from chancery.events.envelope import EventData


def evolve_item(state: ItemState | None, data: EventData) -> ItemState:
    """Return the item after `data`; its first draft makes it."""
    if isinstance(data, DraftSaved):
        return _save_draft(state, data)
    before = existing(state)
    match data:
        case VersionPublished():
            return _publish(before, data)
        case ItemWithdrawn():
            require("only a serving item is withdrawn", holds=before.serving is not None)
            return changed(before, withdrawn=True)
        case ItemGranted():
            return changed(before, grants=granted(before.grants, data.grantee))
        case ItemGrantRevoked():
            return changed(before, grants=ungranted(before.grants, data.grantee))
        case _:
            raise foreign(data)


def evolve_corpus(state: CorpusState | None, data: EventData) -> CorpusState:
    """Return the corpus after `data`; a later declaration replaces the whole of it."""
    if not isinstance(data, CorpusDeclared):
        raise foreign(data)
    if state is not None:
        same = (state.workspace_id, state.corpus_id) == (data.workspace_id, data.corpus_id)
        require("a corpus keeps workspace and id", holds=same)
        require("a corpus keeps its declarer", holds=state.declarer == data.declarer)
    sha256 = declaration_hash(
        corpus_id=data.corpus_id,
        model=data.model,
        scope=data.scope,
        title=data.title,
        content=data.content,
        where=data.where,
        binding=data.binding,
    )
    require("a declaration has its own hash", holds=data.declaration_sha256 == sha256)
    return CorpusState(
        workspace_id=data.workspace_id,
        corpus_id=data.corpus_id,
        model=data.model,
        scope=data.scope,
        title=data.title,
        content=data.content,
        where=data.where,
        binding=data.binding,
        declarer=data.declarer,
        declaration_sha256=sha256,
    )


def evolve_file(state: FileState | None, data: EventData) -> FileState:
    """Return the file after `data`; it is uploaded once and deleted for good."""
    match data:
        case FileUploaded():
            require("a file is uploaded once", holds=state is None)
            return FileState(
                owner=data.owner,
                title=data.title,
                content_sha256=data.content_sha256,
                media_type=data.media_type,
                size_bytes=data.size_bytes,
            )
        case FileDeleted():
            require("a file is deleted once", holds=not existing(state).deleted)
            return changed(existing(state), deleted=True)
        case _:
            raise foreign(data)


def _save_draft(state: ItemState | None, data: DraftSaved) -> ItemState:
    _check_described(data)
    before = _made(data) if state is None else state
    same = (before.workspace_id, before.item_id) == (data.workspace_id, data.item_id)
    require("an item keeps workspace and id", holds=same)
    require("an item keeps its declarer", holds=before.declarer == data.declarer)
    require("an item keeps its visibility", holds=before.visibility == data.visibility)
    native = (data.native_workspace_id, data.native_item_id)
    kept = native == (before.native_workspace_id, before.native_item_id)
    require("an item keeps its native ids", holds=kept)
    draft = _draft(before.saved + 1, data)
    return changed(before, drafts={**before.drafts, data.draft_id: draft}, saved=draft.number)


def _made(data: DraftSaved) -> ItemState:
    return ItemState(
        workspace_id=data.workspace_id,
        item_id=data.item_id,
        native_workspace_id=data.native_workspace_id,
        native_item_id=data.native_item_id,
        visibility=data.visibility,
        declarer=data.declarer,
        grants=(data.declarer,),
    )


def _publish(before: ItemState, data: VersionPublished) -> ItemState:
    _check_described(data)
    gapless = data.version == len(before.versions) + 1
    require("versions count from 1 without a gap", holds=gapless)
    draft = before.drafts.get(data.draft_id)
    same = draft is not None and draft == _draft(draft.number, data)
    require("a version has the content, metadata and evidence of its draft", holds=same)
    fresh = all(
        data.version_id != each.version_id and data.operation_id != each.operation_id
        for each in before.versions
    )
    require("a version has ids of its own", holds=fresh)
    drafts = {name: each for name, each in before.drafts.items() if name != data.draft_id}
    versions = (*before.versions, _version(data))
    return changed(before, drafts=drafts, versions=versions, withdrawn=False)


def _check_described(data: DraftSaved | VersionPublished) -> None:
    require("a tag is given once", holds=len(set(data.tags)) == len(data.tags))
    roots = {(root.kind, root.key) for root in data.evidence}
    require("an evidence root is named once", holds=len(roots) == len(data.evidence))
    require("evidence is in its order", holds=ordered(data.evidence) == data.evidence)
    own = evidence_hash(data.evidence)
    require("evidence has its own hash", holds=data.evidence_sha256 == own)


def _draft(number: int, data: DraftSaved | VersionPublished) -> Draft:
    return Draft(
        number=number,
        title=data.title,
        kind=data.kind,
        domain=data.domain,
        tags=data.tags,
        author=data.author,
        content_sha256=data.content_sha256,
        size_bytes=data.size_bytes,
        evidence=data.evidence,
        evidence_sha256=data.evidence_sha256,
    )


def _version(data: VersionPublished) -> Version:
    return Version(
        version_id=data.version_id,
        draft_id=data.draft_id,
        operation_id=data.operation_id,
        native_workspace_id=data.native_workspace_id,
        native_item_id=data.native_item_id,
        native_version_id=data.native_version_id,
        title=data.title,
        kind=data.kind,
        domain=data.domain,
        tags=data.tags,
        author=data.author,
        committed_at=data.committed_at,
        content_sha256=data.content_sha256,
        size_bytes=data.size_bytes,
        evidence=data.evidence,
        evidence_sha256=data.evidence_sha256,
    )
