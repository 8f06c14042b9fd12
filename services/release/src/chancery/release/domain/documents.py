"""Documents as release loaded them: pinned texts of sources, items and files, and their facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from chancery.authority.release import Pinned, Root
from chancery.events.run import ProposedQuote
from chancery.evidence.answer import QuoteFact
from chancery.evidence.citations import DocumentKind
from chancery.evidence.knowledge import KnowledgeManifest, text_manifest
from chancery.evidence.manifest import AlteredText, Manifest
from chancery.evidence.quote import resolve_quote
from chancery.evidence.references import (
    FileReference,
    ItemReference,
    Reference,
    SnapshotPin,
    SourceReference,
)
from chancery.evidence.scope import ScopeEntry
from chancery.release.errors import InvalidSelection


@dataclass(frozen=True, slots=True)
class Document:
    """The pinned text of a source, item or file, and its manifest."""

    manifest: Manifest | KnowledgeManifest
    text: str

    @property
    def parts(self) -> Manifest:
        """Return the manifest as that of a text."""
        return text_manifest(self.manifest)


def pin_of(entry: ScopeEntry) -> Pinned:
    """Return what a decision about the entry reads: of an item its evidence roots too."""
    evidence = () if entry.pin is None else entry.pin.roots
    roots = tuple(
        Root(each.kind, each.key, each.revision, each.content_sha256) for each in evidence
    )
    return Pinned(entry.kind, entry.key, entry.revision, roots=roots)


def document_kind(entry: ScopeEntry) -> DocumentKind:
    """Return the kind of an entry that has text.

    Raises:
        InvalidSelection: for a dataset, which has none.
    """
    match entry.kind:
        case "source" | "item" | "file":
            return entry.kind
        case "dataset":
            message = "a dataset has no text to quote"
            raise InvalidSelection(message, code="not_admitted")
        case _:
            assert_never(entry.kind)


def quote_fact(
    tenant: str, selection: ProposedQuote, entry: ScopeEntry, document: Document
) -> QuoteFact:
    """Return the quotation that a selection names, resolved from the pinned text.

    Raises:
        UnsupportedSelection, InvalidSelection: it does not stand up.
        AlteredText: the text is not the one that its manifest describes, or that was published.
    """
    manifest = document.parts
    if isinstance(document.manifest, KnowledgeManifest):
        _check_view(document.manifest, entry)
    part = manifest.part(selection.part_id)
    if part is None or manifest.revision != entry.revision:
        message = "a selected part is not part of the run's scope"
        raise InvalidSelection(message, code="not_admitted")
    text = resolve_quote(document.text, manifest, part.part_id, selection.start, selection.end)
    return QuoteFact(
        tenant=tenant,
        kind=document_kind(entry),
        key=entry.key,
        document_id=entry.id,
        title=entry.title,
        revision=entry.revision,
        part_id=part.part_id,
        ordinal=part.ordinal,
        start=selection.start,
        end=selection.end,
        text=text,
        page=manifest.page(selection.start),
        version_id=None if entry.pin is None else entry.pin.version_id,
    )


def _check_view(manifest: KnowledgeManifest, entry: ScopeEntry) -> None:
    """Check that a view is of exactly the version that was admitted, whatever the index says."""
    if manifest.pin != entry.pin or manifest.body_sha256 != entry.content_sha256:
        message = "the view of an item is not that of its admitted version"
        raise AlteredText(message, field="manifest_sha256")


def snapshot_pin(entry: ScopeEntry) -> SnapshotPin:
    """Return the plain hashes of a snapshot that an answer states values of."""
    assert entry.extraction_sha256 is not None
    assert entry.manifest_sha256 is not None
    return SnapshotPin(
        content_sha256=entry.content_sha256,
        extraction_sha256=entry.extraction_sha256,
        manifest_sha256=entry.manifest_sha256,
    )


def reference_of(entry: ScopeEntry) -> Reference:
    """Return what the receipt says of an entry that the answer uses."""
    assert entry.extraction_sha256 is not None
    assert entry.manifest_sha256 is not None
    hashes = {
        "extraction_sha256": entry.extraction_sha256,
        "manifest_sha256": entry.manifest_sha256,
    }
    if entry.pin is not None:
        return ItemReference(pin=entry.pin, **hashes)
    revision = {"revision": entry.revision, "content_sha256": entry.content_sha256}
    if entry.kind == "file":
        return FileReference.model_validate({"id": entry.id, **revision, **hashes})
    named = {"kind": entry.kind, "id": entry.id, "key": entry.key}
    return SourceReference.model_validate({**named, **revision, **hashes})
