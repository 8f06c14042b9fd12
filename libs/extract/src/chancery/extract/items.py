"""The complete view of an item's version, from what the log says of it and the text it holds."""

from __future__ import annotations

from chancery.authority.states import ItemState, Version
from chancery.evidence.knowledge import (
    KnowledgeManifest,
    RootReference,
    VersionPin,
    VersionWords,
    build_view,
)


def version_pin(key: str, item: ItemState, number: int) -> VersionPin:
    """Return the pin of a version: canonical and native ids, its commit, what it rests on."""
    version = item.versions[number - 1]
    return VersionPin(
        item_key=key,
        item_id=item.item_id,
        workspace_id=item.workspace_id,
        native_item_id=version.native_item_id,
        native_workspace_id=version.native_workspace_id,
        version=number,
        version_id=version.version_id,
        native_version_id=version.native_version_id,
        operation_id=version.operation_id,
        content_sha256=version.content_sha256,
        evidence_sha256=version.evidence_sha256,
        roots=_roots(version),
    )


def view_of(
    key: str, item: ItemState, number: int, body: str, *, extractor: str
) -> KnowledgeManifest:
    """Return the view of version `number` with the whole text `body`.

    Raises:
        TooLarge: with code `body_too_large`.
    """
    version = item.versions[number - 1]
    words = VersionWords(
        title=version.title,
        kind=version.kind,
        domain=version.domain,
        tags=version.tags,
        author=version.author,
        committed_at=version.committed_at,
    )
    return build_view(version_pin(key, item, number), words, body, extractor=extractor)


def _roots(version: Version) -> tuple[RootReference, ...]:
    return tuple(
        RootReference(
            kind=root.kind,
            key=root.key,
            id=root.id,
            revision=root.revision,
            content_sha256=root.content_sha256,
        )
        for root in version.evidence
    )
