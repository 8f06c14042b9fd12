"""The bodies of commands on curated items, corpora and private files, and of their outcomes.

`chancery.events.commands` has these names too.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, Strict

from chancery.events.authority import Title, Visibility
from chancery.events.authority_knowledge import (
    EVIDENCE_MAX,
    EvidenceKind,
    ItemBytes,
    Label,
    Selectors,
    Tags,
    Written,
)
from chancery.events.envelope import Id, Many, Ordinal, Sha256
from chancery.events.requests import Message


class EvidenceName(Message):
    """A published revision (of a dataset: snapshot) of the item's own workspace."""

    kind: EvidenceKind
    id: Id
    revision: Annotated[Ordinal, Strict()]


def _each_once(evidence: tuple[EvidenceName, ...]) -> tuple[EvidenceName, ...]:
    if len({(name.kind, name.id) for name in evidence}) != len(evidence):
        message = "must name each source and dataset once"
        raise ValueError(message)
    return evidence


def _tags_once(tags: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(tags)) != len(tags):
        message = "must name each tag once"
        raise ValueError(message)
    return tags


Evidence = Annotated[Many[EvidenceName], Field(max_length=EVIDENCE_MAX), AfterValidator(_each_once)]
"""What a version rests on; the order says nothing."""

TagsOnce = Annotated[Tags, AfterValidator(_tags_once)]


class SaveDraft(Message):
    """Save a draft whose text is the blob `content_sha256`; the first one makes the item.

    The native ids are those of the system that the item comes from, by default the item's own; they
    and the visibility (by default `workspace`) are said once: later drafts keep them.
    """

    workspace_id: Id
    item_id: Id
    draft_id: Id
    visibility: Visibility | None = None
    title: Title
    kind: Label
    domain: Label
    tags: TagsOnce = ()
    content_sha256: Sha256
    size_bytes: ItemBytes
    evidence: Evidence = ()
    native_workspace_id: Id | None = None
    native_item_id: Id | None = None


class DraftSavedOutcome(Message):
    """The draft that now stands; publishing it needs exactly these two hashes' content."""

    draft_id: Id
    content_sha256: Sha256
    evidence_sha256: Sha256
    sequence: int = Field(ge=1)
    event_id: Id
    changed: bool


class PublishDraft(Message):
    """Publish exactly this content on exactly this evidence; anything else is refused.

    A withdrawn item serves again only when `restore` asks for that.
    """

    workspace_id: Id
    item_id: Id
    draft_id: Id
    content_sha256: Sha256
    evidence: Evidence = ()
    restore: bool = False


class VersionPublishedOutcome(Message):
    """The version that serves; `operation_id` is its acknowledged commit."""

    version: int = Field(ge=1)
    version_id: Id
    operation_id: Id
    content_sha256: Sha256
    evidence_sha256: Sha256
    sequence: int = Field(ge=1)
    changed: bool


class DeclareCorpus(Message):
    """Declare a corpus of a workspace, or replace its declaration."""

    workspace_id: Id
    corpus_id: Id
    model: Written
    scope: Written
    title: Written
    content: Selectors
    where: Written
    binding: Written


class UploadFile(Message):
    """Keep raw bytes, already stored as a blob, as a file that only the caller may read."""

    file_id: Id
    title: Title
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: int = Field(ge=1)


class DeleteFile(Message):
    """Delete a file of the caller for good."""

    file_id: Id
