"""What became of a published revision: the events of the INDEX stream, version 2."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import Field

from chancery.events.envelope import EventData, Id, Ordinal, Position, Sha256, Whole

ResourceKind = Literal["source", "dataset", "item", "file"]
"""What has revisions: a document source, a dataset (its revisions are snapshots), a curated item
(its versions), or a private file (only ever revision 1)."""


REASON_PATTERN: Final = r"^[a-z0-9_]{1,64}$"
"""The form of a reason: a stable code."""


class _OfRevision(EventData):
    """The exact revision an index event is about; `key` is the aggregate's id on the log.

    A file belongs to no workspace: `workspace_id` then carries the id of the principal who owns it.
    """

    workspace_id: Id
    kind: ResourceKind
    key: Id
    revision: Ordinal
    content_sha256: Sha256
    authority_sequence: Position


class RevisionPending(_OfRevision):
    """Indexing has seen the revision and works on it.

    `attempt` is the one that comes next, by itself, where those before failed for a `reason` that
    passes.
    """

    TYPE: ClassVar[str] = "chancery.index.revision-pending.v2"
    reason: str | None = Field(default=None, pattern=REASON_PATTERN)
    attempt: Ordinal | None = None


class RevisionExtracted(_OfRevision):
    """The canonical form of the revision; the first one per (revision, extractor) wins.

    `extraction_sha256` names the canonical text (of a dataset: its Parquet), `manifest_sha256` the
    parts (of a dataset: its schema and measure cards; of an item: its complete view), both blobs.
    `length` counts code points (of a dataset: rows).
    """

    TYPE: ClassVar[str] = "chancery.index.revision-extracted.v2"
    extraction_sha256: Sha256
    manifest_sha256: Sha256
    extractor: str = Field(min_length=1, max_length=100)
    length: Whole


class RevisionReady(_OfRevision):
    """The revision can be searched (of a dataset: queried)."""

    TYPE: ClassVar[str] = "chancery.index.revision-ready.v2"
    extraction_sha256: Sha256
    manifest_sha256: Sha256


class RevisionFailed(_OfRevision):
    """The revision could not be extracted; `reason` is a stable code, never text of the file.

    `field` says what to change (`columns.amount.type`); it can hold the name of a hidden column.
    `attempt` is the last one, where it was tried again by itself and is no more.
    """

    TYPE: ClassVar[str] = "chancery.index.revision-failed.v2"
    reason: str = Field(pattern=REASON_PATTERN)
    field: str | None = Field(default=None, max_length=200)
    attempt: Ordinal | None = None


class RevisionExcluded(_OfRevision):
    """The revision no longer serves: withdrawn, superseded, or of a kind that has no text."""

    TYPE: ClassVar[str] = "chancery.index.revision-excluded.v2"
    reason: str = Field(pattern=REASON_PATTERN)


class RevisionUnavailable(_OfRevision):
    """The indexed form was there and is not reachable now."""

    TYPE: ClassVar[str] = "chancery.index.revision-unavailable.v2"
    reason: str = Field(pattern=REASON_PATTERN)


MODELS: tuple[type[EventData], ...] = (
    RevisionPending,
    RevisionExtracted,
    RevisionReady,
    RevisionFailed,
    RevisionExcluded,
    RevisionUnavailable,
)
"""Every event of the INDEX stream."""
