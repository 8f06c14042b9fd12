"""What other services submit over the bus, and what became of it, version 1.

A submission is the one event that may carry text (up to 128 KiB; larger bytes are uploaded first
with `POST /v1/blobs`). It may be sent in structured or in binary mode. Who submits it stands in the
subject, which the bus binds to its sender; an unknown field of `data` is refused, since a
misspelled `visibility` must not publish to everybody.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field

from chancery.events.authority import Standing, Title, Visibility
from chancery.events.envelope import EventData, Id, Ordinal, Position, Sha256
from chancery.kernel.canonical import canonical_bytes

TEXT_BYTES_MAX = 128 * 1024
"""The longest text that a submission carries, in UTF-8."""

_ENCODED_BYTES_MAX = 192 * 1024


def _bounded(text: str) -> str:
    try:
        size, encoded = len(text.encode()), len(canonical_bytes(text))
    except (UnicodeEncodeError, ValueError) as error:
        message = "the text has a character that UTF-8 cannot carry"
        raise ValueError(message) from error
    if size > TEXT_BYTES_MAX or encoded > _ENCODED_BYTES_MAX:
        message = "the text is longer than 128 KiB; upload it with POST /v1/blobs"
        raise ValueError(message)
    return text


SubmittedText = Annotated[
    str, Field(min_length=1, max_length=TEXT_BYTES_MAX), AfterValidator(_bounded)
]


class _Submission(EventData):
    model_config = ConfigDict(frozen=True, extra="forbid")

    workspace_id: Id
    source_id: Id


class SourceSubmitted(_Submission):
    """Declare a document source, or declare it again with another title or visibility."""

    TYPE: ClassVar[str] = "chancery.intake.source-submitted.v1"
    title: Title
    visibility: Visibility = "workspace"
    authority: Standing | None = None
    date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")


class RevisionSubmitted(_Submission):
    """Publish a text as the next revision of a source.

    Either `text` or `content_sha256`, the hash that `POST /v1/blobs` told the same principal.
    """

    TYPE: ClassVar[str] = "chancery.intake.revision-submitted.v1"
    media_type: Literal["text/plain", "text/markdown"]
    text: SubmittedText | None = None
    content_sha256: Sha256 | None = None


class WithdrawalSubmitted(_Submission):
    """Withdraw a source: from now on nothing of it is disclosed."""

    TYPE: ClassVar[str] = "chancery.intake.withdrawal-submitted.v1"


class IntakeAccepted(EventData):
    """A submission is on the log at `sequence`; `changed` is false when it already was so."""

    TYPE: ClassVar[str] = "chancery.intake.accepted.v1"
    submission_type: str = Field(min_length=1, max_length=200)
    intake_sequence: Position
    sequence: Position
    changed: bool
    revision: Ordinal | None = None
    content_sha256: Sha256 | None = None


class IntakeRejected(EventData):
    """Nothing of a submission was applied; `field` names what has to be changed, when one does."""

    TYPE: ClassVar[str] = "chancery.intake.rejected.v1"
    submission_type: str | None = Field(default=None, max_length=200)
    intake_sequence: Position
    code: str = Field(min_length=1, max_length=64)
    detail: str = Field(max_length=1000)
    field: str | None = Field(default=None, max_length=200)


MODELS: tuple[type[EventData], ...] = (
    SourceSubmitted,
    RevisionSubmitted,
    WithdrawalSubmitted,
    IntakeAccepted,
    IntakeRejected,
)
"""Every event of the streams INTAKE and OUTCOMES."""
