"""Curated items, corpora and private files: further events of the AUTHORITY stream, version 1.

Text of an item travels as a blob that its hash names, as a document's bytes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from chancery.events.authority import LINE_PATTERN, Grantee, Title, Visibility
from chancery.events.envelope import EventData, Id, Many, Moment, Ordinal, Sha256
from chancery.kernel.canonical import Json, canonical_hash

ITEM_BYTES_MAX: Final = 256 * 1024
"""The longest body of an item, in UTF-8; its view is complete or refused, never cut."""

EVIDENCE_MAX: Final = 50
"""The most sources and datasets that a version rests on."""

TAGS_MAX: Final = 20
CONTENT_MAX: Final = 10

EvidenceKind = Literal["source", "dataset"]
Label = Id
"""A kind, a domain or a tag: 1 to 64 characters of A-Z, a-z, 0-9, underscore and hyphen."""

Tags = Annotated[Many[Label], Field(max_length=TAGS_MAX)]
ItemBytes = Annotated[int, Field(ge=1, le=ITEM_BYTES_MAX)]
Written = Annotated[str, Field(min_length=1, max_length=200, pattern=LINE_PATTERN)]
"""An attribute of a corpus declaration as it was written."""

Selectors = Annotated[Many[Written], Field(min_length=1, max_length=CONTENT_MAX)]


class EvidenceRoot(BaseModel):
    """A published revision that a version rests on; `key` is its aggregate's id on the log."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: EvidenceKind
    key: Id
    id: Id
    revision: Ordinal
    content_sha256: Sha256


Evidence = Annotated[Many[EvidenceRoot], Field(max_length=EVIDENCE_MAX)]
"""The roots by kind and key, each once."""


def ordered(evidence: Sequence[EvidenceRoot]) -> tuple[EvidenceRoot, ...]:
    """Return the roots by kind and key, the order in which they are hashed."""
    return tuple(sorted(evidence, key=lambda root: (root.kind, root.key)))


def evidence_hash(evidence: Sequence[EvidenceRoot]) -> str:
    """Return the hash of the canonical JSON of the ordered roots; none have a hash too."""
    return canonical_hash([root.model_dump(mode="json") for root in ordered(evidence)])


class _Described(EventData):
    """What a draft and the version made of it have in common."""

    draft_id: Id
    native_workspace_id: Id
    native_item_id: Id
    title: Title
    kind: Label
    domain: Label
    tags: Tags = ()
    author: Id
    content_sha256: Sha256
    size_bytes: ItemBytes
    evidence: Evidence = ()
    evidence_sha256: Sha256


class DraftSaved(_Described):
    """A draft of an item; the first one makes the item, the same `draft_id` again replaces it.

    Workspace, id, declarer, visibility and native ids stay as the first draft said them.
    """

    TYPE: ClassVar[str] = "chancery.item.draft-saved.v1"
    workspace_id: Id
    item_id: Id
    visibility: Visibility
    declarer: Id


class VersionPublished(_Described):
    """Version `version` of an item serves from here on, with exactly its draft's content.

    `operation_id` is this event's id: the acknowledged commit. The native ids are those under which
    the version was committed; one that disagrees with the item's is kept but never admitted.
    """

    TYPE: ClassVar[str] = "chancery.item.version-published.v1"
    version: Ordinal
    version_id: Id
    operation_id: Id
    native_version_id: Id
    committed_at: Moment


class ItemWithdrawn(EventData):
    """The item does not serve; answers that used it are withheld."""

    TYPE: ClassVar[str] = "chancery.item.withdrawn.v1"


class ItemGranted(EventData):
    """A principal or group may read the restricted item."""

    TYPE: ClassVar[str] = "chancery.item.granted.v1"
    grantee: Grantee


class ItemGrantRevoked(EventData):
    """The grant ended."""

    TYPE: ClassVar[str] = "chancery.item.grant-revoked.v1"
    grantee: Grantee


def declaration_hash(
    *,
    corpus_id: str,
    model: str,
    scope: str,
    title: str,
    content: Sequence[str],
    where: str,
    binding: str,
) -> str:
    """Return the hash of a corpus declaration's canonical JSON: what an answer's receipt pins."""
    said: dict[str, Json] = {
        "corpus": corpus_id,
        "model": model,
        "scope": scope,
        "title": title,
        "content": list(content),
        "where": where,
        "binding": binding,
    }
    return canonical_hash(said)


class CorpusDeclared(EventData):
    """A corpus of a workspace: which of its revisions an answer may rest on; it grants nothing.

    `binding` is what the declaration language calls `from`.
    """

    TYPE: ClassVar[str] = "chancery.corpus.declared.v1"
    workspace_id: Id
    corpus_id: Id
    model: Written
    scope: Written
    title: Written
    content: Selectors
    where: Written
    binding: Written
    declarer: Id
    declaration_sha256: Sha256


class FileUploaded(EventData):
    """A file that only `owner` may read; it belongs to no workspace."""

    TYPE: ClassVar[str] = "chancery.file.uploaded.v1"
    file_id: Id
    owner: Id
    title: Title
    content_sha256: Sha256
    media_type: str = Field(min_length=1, max_length=100)
    size_bytes: Ordinal


class FileDeleted(EventData):
    """The file is gone for good; answers that used it are withheld."""

    TYPE: ClassVar[str] = "chancery.file.deleted.v1"


MODELS: tuple[type[EventData], ...] = (
    DraftSaved,
    VersionPublished,
    ItemWithdrawn,
    ItemGranted,
    ItemGrantRevoked,
    CorpusDeclared,
    FileUploaded,
    FileDeleted,
)
"""Every event of items, corpora and files."""
