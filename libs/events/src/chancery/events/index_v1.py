"""The events of the INDEX stream in version 1: read for ever, written no more.

Version 2 (chancery.events.index) takes in items and files; what version 1 says means the same.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from chancery.events.envelope import EventData, Id, Ordinal, Position, Sha256, Whole

_Kind = Literal["source", "dataset"]


class _OfRevision(EventData):
    """The exact revision an index event is about; `key` is the aggregate's id on the log."""

    workspace_id: Id
    kind: _Kind
    key: Id
    revision: Ordinal
    content_sha256: Sha256
    authority_sequence: Position


class RevisionPending(_OfRevision):
    """Indexing has seen the revision and works on it."""

    TYPE: ClassVar[str] = "chancery.index.revision-pending.v1"


class RevisionExtracted(_OfRevision):
    """The canonical form of the revision; the first one per (revision, extractor) wins.

    `extraction_sha256` names the canonical text (of a dataset: its Parquet), `manifest_sha256` the
    parts (of a dataset: its schema and measure cards), both blobs. `length` counts code points (of
    a dataset: rows).
    """

    TYPE: ClassVar[str] = "chancery.index.revision-extracted.v1"
    extraction_sha256: Sha256
    manifest_sha256: Sha256
    extractor: str = Field(min_length=1, max_length=100)
    length: Whole


class RevisionReady(_OfRevision):
    """The revision can be searched (of a dataset: queried)."""

    TYPE: ClassVar[str] = "chancery.index.revision-ready.v1"
    extraction_sha256: Sha256
    manifest_sha256: Sha256


class RevisionFailed(_OfRevision):
    """The revision could not be extracted; `reason` is a stable code, never text of the file."""

    TYPE: ClassVar[str] = "chancery.index.revision-failed.v1"
    reason: str = Field(pattern=r"^[a-z0-9_]{1,64}$")


class RevisionExcluded(_OfRevision):
    """The revision no longer serves: withdrawn, superseded, or of a kind that has no text."""

    TYPE: ClassVar[str] = "chancery.index.revision-excluded.v1"
    reason: str = Field(pattern=r"^[a-z0-9_]{1,64}$")


class RevisionUnavailable(_OfRevision):
    """The indexed form was there and is not reachable now."""

    TYPE: ClassVar[str] = "chancery.index.revision-unavailable.v1"
    reason: str = Field(pattern=r"^[a-z0-9_]{1,64}$")


MODELS: tuple[type[EventData], ...] = (
    RevisionPending,
    RevisionExtracted,
    RevisionReady,
    RevisionFailed,
    RevisionExcluded,
    RevisionUnavailable,
)
"""Every event of the INDEX stream that the first release wrote."""
