"""The complete view of one version of a curated item: what it is, and every part of its body.

Part ordinals and ranges are places in the body, never pages. A body is complete or refused: there
is no truncated view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from chancery.events.authority import LINE_PATTERN
from chancery.events.authority_knowledge import (
    EVIDENCE_MAX,
    ITEM_BYTES_MAX,
    TAGS_MAX,
    EvidenceRoot,
    evidence_hash,
)
from chancery.events.envelope import Id, Many, Moment, Sha256
from chancery.evidence.manifest import AlteredText, Manifest, build_manifest, check_text
from chancery.evidence.parts import Part
from chancery.evidence.record import Record
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import TooLarge

Line = Annotated[str, Field(min_length=1, max_length=300, pattern=LINE_PATTERN)]


class RootReference(Record):
    """One exact revision or snapshot that a version rests on."""

    kind: Literal["source", "dataset"]
    key: Id
    id: Id
    revision: int = Field(ge=1)
    content_sha256: Sha256


class ReadContext(Record):
    """Where a native read took place, as far as it said so."""

    engine: Line | None = Field(default=None, exclude_if=lambda each: each is None)
    database: Line | None = Field(default=None, exclude_if=lambda each: each is None)
    catalog: Line | None = Field(default=None, exclude_if=lambda each: each is None)
    schema_name: Line | None = Field(default=None, exclude_if=lambda each: each is None)


class VersionPin(Record):
    """The exact version that an admission pins, canonical and native, with its commit.

    `operation_id` is the event that the log acknowledged as the version's publication.
    """

    item_key: Id
    item_id: Id
    workspace_id: Id
    native_item_id: Id
    native_workspace_id: Id
    version: int = Field(ge=1)
    version_id: Id
    native_version_id: Id
    operation_id: Id
    content_sha256: Sha256
    evidence_sha256: Sha256
    roots: Many[RootReference] = Field(max_length=EVIDENCE_MAX)

    @model_validator(mode="after")
    def _roots_have_their_hash(self) -> Self:
        if roots_sha256(self.roots) != self.evidence_sha256:
            message = "evidence_sha256 must be the hash of the evidence roots"
            raise ValueError(message)
        return self


class KnowledgeManifest(Record):
    """The manifest of a complete view; its hash covers the metadata and the ordered parts.

    `body_sha256` and `body_bytes` are of the UTF-8 of the body, `length` counts its code points.
    One whose parts are missing, reordered, repeated, truncated or altered does not parse.
    """

    format: Literal["chancery.knowledge-manifest/1"] = "chancery.knowledge-manifest/1"
    pin: VersionPin
    title: Line
    kind: Id
    domain: Id
    tags: Many[Id] = Field(default=(), max_length=TAGS_MAX)
    author: Id
    committed_at: Moment
    extractor: str = Field(min_length=1, max_length=100)
    body_sha256: Sha256
    body_bytes: int = Field(ge=1, le=ITEM_BYTES_MAX)
    length: int = Field(ge=1)
    parts: Many[Part] = Field(min_length=1)
    read_context: ReadContext | None = Field(default=None, exclude_if=lambda each: each is None)

    @model_validator(mode="after")
    def _parts_are_the_body(self) -> Self:
        self.as_text()
        return self

    @property
    def sha256(self) -> str:
        """Return the hash of the canonical bytes, the `manifest_sha256` of events and receipts."""
        return sha256_hex(self.to_bytes())

    def as_text(self) -> Manifest:
        """Return the parts as the manifest of a text, which quotations are resolved against."""
        return Manifest(
            key=self.pin.item_key,
            revision=self.pin.version,
            content_sha256=self.pin.content_sha256,
            extraction_sha256=self.body_sha256,
            extractor=self.extractor,
            length=self.length,
            parts=self.parts,
        )


class VersionWords(Record):
    """What a version says of itself."""

    title: Line
    kind: Id
    domain: Id
    tags: Many[Id] = Field(default=(), max_length=TAGS_MAX)
    author: Id
    committed_at: Moment


def roots_sha256(roots: Sequence[RootReference]) -> str:
    """Return the hash of a version's evidence, as its publication states it."""
    return evidence_hash([EvidenceRoot.model_validate(root.to_json()) for root in roots])


def body_size(body: bytes) -> int:
    """Return the size of the UTF-8 of a body, when an item may have that much.

    Raises:
        TooLarge: with code `body_too_large` above 256 KiB.
    """
    if len(body) > ITEM_BYTES_MAX:
        message = "the body of an item takes at most 256 KiB of UTF-8; split it into several items"
        raise TooLarge(message, field="text", code="body_too_large")
    return len(body)


def build_view(
    pin: VersionPin, words: VersionWords, body: str, *, extractor: str
) -> KnowledgeManifest:
    """Return the manifest of the complete view of a version with the canonical text `body`.

    Raises:
        TooLarge: with code `body_too_large` above 256 KiB; nothing is cut off.
    """
    size = body_size(body.encode())
    text = build_manifest(
        pin.item_key,
        pin.version,
        content_sha256=pin.content_sha256,
        extractor=extractor,
        text=body,
    )
    return KnowledgeManifest(
        pin=pin,
        title=words.title,
        kind=words.kind,
        domain=words.domain,
        tags=words.tags,
        author=words.author,
        committed_at=words.committed_at,
        extractor=extractor,
        body_sha256=text.extraction_sha256,
        body_bytes=size,
        length=text.length,
        parts=text.parts,
    )


def check_body(manifest: KnowledgeManifest, body: str) -> None:
    """Check that `body` is the whole body that `manifest` describes.

    Raises:
        AlteredText: when length, size, the whole or a part differs.
    """
    if len(body.encode()) != manifest.body_bytes:
        message = "the body has another size than its manifest says"
        raise AlteredText(message, field="body_bytes")
    check_text(manifest.as_text(), body)


def text_manifest(manifest: Manifest | KnowledgeManifest) -> Manifest:
    """Return the manifest that quotations of either are resolved against."""
    return manifest if isinstance(manifest, Manifest) else manifest.as_text()
