"""What an answer uses, as its receipt names it: exact revisions with the hashes of their bytes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from chancery.events.envelope import Id, Sha256
from chancery.evidence.knowledge import VersionPin
from chancery.evidence.record import Record
from chancery.evidence.salts import commitment

Name: TypeAlias = tuple[str, str, int]
"""Kind, id and number of a revision, snapshot or version."""


class SourceReference(Record):
    """A revision of a document, or a snapshot of a dataset.

    The hashes of a snapshot are commitments (`committed`): a plain one would let who sees only some
    columns and rows guess at the others until it fits. Older receipts have plain ones.
    """

    kind: Literal["source", "dataset"]
    id: Id
    key: Id
    revision: int = Field(ge=1)
    content_sha256: Sha256
    extraction_sha256: Sha256
    manifest_sha256: Sha256

    @property
    def name(self) -> Name:
        """Return what citations call it."""
        return (self.kind, self.id, self.revision)


class SnapshotPin(Record):
    """The plain hashes of a snapshot: its file, its rows as they are queried, and its manifest."""

    content_sha256: Sha256
    extraction_sha256: Sha256
    manifest_sha256: Sha256


class ItemReference(Record):
    """A version of a curated item; `extraction_sha256` is over its complete body."""

    pin: VersionPin
    extraction_sha256: Sha256
    manifest_sha256: Sha256

    @property
    def name(self) -> Name:
        """Return what citations call it."""
        return ("item", self.pin.item_id, self.pin.version)

    @property
    def key(self) -> str:
        """Return the item's aggregate on the log."""
        return self.pin.item_key

    @property
    def revision(self) -> int:
        """Return the number of the version."""
        return self.pin.version

    @property
    def content_sha256(self) -> str:
        """Return the hash of the published bytes."""
        return self.pin.content_sha256


class FileReference(Record):
    """A private file of the asker."""

    id: Id
    revision: int = Field(ge=1)
    content_sha256: Sha256
    extraction_sha256: Sha256
    manifest_sha256: Sha256

    @property
    def name(self) -> Name:
        """Return what citations call it."""
        return ("file", self.id, self.revision)

    @property
    def key(self) -> str:
        """Return the file's aggregate on the log, which is the file's id."""
        return self.id


class CorpusReference(Record):
    """The corpus that was asked, by the hash of its declaration."""

    id: Id
    key: Id
    declaration_sha256: Sha256


Reference: TypeAlias = SourceReference | ItemReference | FileReference


def pin_of(reference: SourceReference) -> SnapshotPin:
    """Return the hashes that stand in a reference."""
    return SnapshotPin(
        content_sha256=reference.content_sha256,
        extraction_sha256=reference.extraction_sha256,
        manifest_sha256=reference.manifest_sha256,
    )


def committed(reference: SourceReference, salt: str) -> SourceReference:
    """Return the reference to a snapshot with commitments in the place of its plain hashes."""
    hashes = {
        name: commitment(salt, plain) for name, plain in pin_of(reference).model_dump().items()
    }
    return reference.model_copy(update=hashes)
