"""What other services submit over the bus, and what became of it.

A submission is the one event that may carry text (up to 128 KiB; larger bytes are uploaded first
with `POST /v1/blobs`). It may be sent in structured or in binary mode. Who submits it stands in the
subject, which the bus binds to its sender; an unknown field of `data` is refused, since a
misspelled `visibility` must not publish to everybody. Version 1 of a type is taken for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field

from chancery.events.authority import Standing, Title, Visibility
from chancery.events.authority_knowledge import Label
from chancery.events.commands_knowledge import Evidence, TagsOnce
from chancery.events.days import Day
from chancery.events.declarations import WrittenDeclaration, at_first
from chancery.events.envelope import EventData, Id, Ordinal, Position, Sha256
from chancery.kernel.canonical import Json, canonical_bytes

TEXT_BYTES_MAX = 128 * 1024
"""The longest text that a submission carries, in UTF-8."""

_ENCODED_BYTES_MAX = 192 * 1024


def _bounded(text: str) -> str:
    try:
        size, encoded = len(text.encode()), len(canonical_bytes(text))
    except (UnicodeEncodeError, ValueError) as error:
        message = "has a character that UTF-8 cannot carry"
        raise ValueError(message) from error
    if size > TEXT_BYTES_MAX or encoded > _ENCODED_BYTES_MAX:
        message = (
            "is longer than 128 KiB; upload it with POST /v1/blobs and submit the hash that this"
            " returns as content_sha256 in place of the text"
        )
        raise ValueError(message)
    return text


# The longest text is named for readers of the schema; what is said of a longer one is said above.
SubmittedText = Annotated[
    str,
    Field(min_length=1, json_schema_extra={"maxLength": TEXT_BYTES_MAX}),
    AfterValidator(_bounded),
]


KeptVisibility = Annotated[
    Visibility | None,
    Field(
        description="left out: workspace of what is new, and as it is of what is there",
        json_schema_extra=at_first("workspace"),
    ),
]
MediaType = Annotated[str, Field(min_length=1, max_length=100)]


class _Submission(EventData):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _InWorkspace(_Submission):
    workspace_id: Id


class _OfSource(_InWorkspace):
    source_id: Id


class _OfItem(_InWorkspace):
    item_id: Id
    draft_id: Id


class SourceSubmitted(_OfSource):
    """Declare a document source, or declare it again: what is left out stays as it is."""

    TYPE: ClassVar[str] = "chancery.intake.source-submitted.v1"
    title: Title
    visibility: KeptVisibility = None
    authority: Standing | None = None
    date: Day | None = None


class RevisionSubmitted(_OfSource):
    """Publish a text as the next revision of a source; version 2 takes other documents too.

    Either `text` or `content_sha256`, the hash that `POST /v1/blobs` told the same principal.
    """

    TYPE: ClassVar[str] = "chancery.intake.revision-submitted.v1"
    media_type: Literal["text/plain", "text/markdown"]
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None


class DocumentSubmitted(_OfSource):
    """Publish a document of any media type as the next revision of a source.

    A text comes as `text` or as `content_sha256`, another document as the latter only. A withdrawn
    source serves again only when `restore` asks for that.
    """

    TYPE: ClassVar[str] = "chancery.intake.revision-submitted.v2"
    media_type: MediaType
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None
    restore: bool = False


class DatasetSubmitted(WrittenDeclaration, _InWorkspace):
    """Declare a dataset with its column policy and measures, or declare it again.

    What is left out stays as it is; an empty part removes it.
    """

    TYPE: ClassVar[str] = "chancery.intake.dataset-submitted.v1"
    dataset_id: Id
    title: Title
    visibility: KeptVisibility = None


class SnapshotSubmitted(_InWorkspace):
    """Publish a raw file as the next snapshot of a dataset, or append its rows to the newest one.

    CSV comes as `text` or as `content_sha256`, Parquet and Excel as the latter only; only CSV is
    appended, and only to CSV. A withdrawn dataset serves again only when `restore` asks for that.
    """

    TYPE: ClassVar[str] = "chancery.intake.snapshot-submitted.v1"
    dataset_id: Id
    media_type: MediaType
    mode: Literal["replace", "append"] = "replace"
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None
    restore: bool = False


class DraftSubmitted(_OfItem):
    """Save a draft of an item, from which nobody is answered; the first one makes the item.

    Either `text` or `content_sha256`. The visibility (by default `workspace`) and the native ids
    are said once: later drafts keep them.
    """

    TYPE: ClassVar[str] = "chancery.intake.draft-submitted.v1"
    title: Title
    kind: Label
    domain: Label
    tags: TagsOnce = ()
    evidence: Evidence = ()
    visibility: Visibility | None = None
    native_workspace_id: Id | None = None
    native_item_id: Id | None = None
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None


class PublicationSubmitted(_OfItem):
    """Publish a draft as the next version of its item: exactly this content on this evidence.

    A withdrawn item serves again only when `restore` asks for that.
    """

    TYPE: ClassVar[str] = "chancery.intake.publication-submitted.v1"
    content_sha256: Sha256
    evidence: Evidence = ()
    restore: bool = False


class WithdrawalSubmitted(_OfSource):
    """Withdraw a source: from now on nothing of it is disclosed."""

    TYPE: ClassVar[str] = "chancery.intake.withdrawal-submitted.v1"


class ResourceWithdrawalSubmitted(_InWorkspace):
    """Withdraw a source, a dataset or an item: from now on nothing of it is disclosed."""

    TYPE: ClassVar[str] = "chancery.intake.withdrawal-submitted.v2"
    kind: Literal["source", "dataset", "item"]
    resource_id: Id


class FileSubmitted(_Submission):
    """Keep a document that only its sender may ask: a private file, which is in no workspace.

    A text comes as `text` or as `content_sha256`, another document as the latter only.
    """

    TYPE: ClassVar[str] = "chancery.intake.file-submitted.v1"
    title: Title = "file"
    media_type: MediaType
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None


class FileDeletionSubmitted(_Submission):
    """Delete a private file of the sender for good: answers that used it are withheld."""

    TYPE: ClassVar[str] = "chancery.intake.file-deletion-submitted.v1"
    file_id: Id


class IntakeAccepted(EventData):
    """A submission is on the log at `sequence`; `changed` is false when it already was so.

    `revision` counts revisions, snapshots or versions; a publication is told its `version_id`, a
    private file its `file_id`.
    """

    TYPE: ClassVar[str] = "chancery.intake.accepted.v1"
    submission_type: str = Field(min_length=1, max_length=200)
    intake_sequence: Position
    sequence: Position
    changed: bool
    revision: Ordinal | None = None
    content_sha256: Sha256 | None = None
    version_id: Id | None = None
    evidence_sha256: Sha256 | None = None
    file_id: Id | None = None


class IntakeRejected(EventData):
    """Nothing of the submission at `intake_sequence` was applied; `field` names what has to change.

    An earlier submission under the same id is not spoken of: what was accepted stays so.
    """

    TYPE: ClassVar[str] = "chancery.intake.rejected.v1"
    submission_type: str | None = Field(default=None, max_length=200)
    intake_sequence: Position
    code: str = Field(min_length=1, max_length=64)
    detail: str = Field(max_length=1000)
    field: str | None = Field(default=None, max_length=200)


SUBMISSIONS: tuple[type[EventData], ...] = (
    SourceSubmitted,
    RevisionSubmitted,
    DocumentSubmitted,
    DatasetSubmitted,
    SnapshotSubmitted,
    DraftSubmitted,
    PublicationSubmitted,
    WithdrawalSubmitted,
    ResourceWithdrawalSubmitted,
    FileSubmitted,
    FileDeletionSubmitted,
)
"""Every event of the stream INTAKE: other services write them, with the attributes they choose."""

MODELS: tuple[type[EventData], ...] = (*SUBMISSIONS, IntakeAccepted, IntakeRejected)
"""Every event of the streams INTAKE and OUTCOMES."""


def resource_withdrawal_of(withdrawal: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return version 2 of a submitted withdrawal: version 1 only knew sources."""
    kept = {name: value for name, value in withdrawal.items() if name != "source_id"}
    return {**kept, "kind": "source", "resource_id": withdrawal["source_id"]}
