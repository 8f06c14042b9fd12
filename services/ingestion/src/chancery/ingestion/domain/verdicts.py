"""What a sender is told of a submission: accepted, or rejected with the field to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from chancery.authority.errors import NotPermitted
from chancery.events.codec import MODELS
from chancery.events.commands import (
    DraftSavedOutcome,
    Outcome,
    PublishedOutcome,
    VersionPublishedOutcome,
)
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.intake import IntakeAccepted, IntakeRejected
from chancery.ingestion.domain.messages import SOURCE
from chancery.ingestion.domain.submissions import Letter, Submission
from chancery.ingestion.errors import KeyReused
from chancery.kernel.errors import ChanceryError, NotFound, TooLarge
from chancery.kernel.ids import derived_id

WORKSPACE_FIELD = "data.workspace_id"

REUSED: Final = (
    "this event id was used for another submission, whose outcome stands; use a fresh id"
)
_ATTRIBUTES: Final = frozenset(
    {"id", "type", "source", "specversion", "subject", "time", "tenant", "data"}
)
_PLACES: Final = ("data.", "datacontent", "traceparent")
_NAMING: Final = ("resource_id", "source_id", "dataset_id", "item_id")
"""What a submission names its source, dataset or item by."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """A private file that is kept or, without a hash, deleted: as of `sequence`."""

    file_id: str
    content_sha256: str | None
    sequence: int
    changed: bool


Applied = Outcome | PublishedOutcome | DraftSavedOutcome | VersionPublishedOutcome | FileOutcome
"""What the command ended in that carried a submission out."""


def accepted(submission: Submission, outcome: Applied, at: datetime) -> Event:
    """Return the outcome of a submission that was carried out; a repetition gives the same id."""
    told = IntakeAccepted(
        submission_type=submission.letter.type,
        intake_sequence=submission.letter.sequence,
        sequence=outcome.sequence,
        changed=outcome.changed,
    )
    data = told.model_copy(update=_published(outcome))
    return _outcome(submission.letter, data, submission.request_sha256, at=at)


def _published(outcome: Applied) -> Mapping[str, str | int | None]:
    """Return what is told beyond the position: which content now stands, under which number."""
    match outcome:
        case Outcome():
            return {}
        case PublishedOutcome():
            return {"revision": outcome.revision, "content_sha256": outcome.content_sha256}
        case DraftSavedOutcome():
            return {
                "content_sha256": outcome.content_sha256,
                "evidence_sha256": outcome.evidence_sha256,
            }
        case VersionPublishedOutcome():
            return {
                "revision": outcome.version,
                "version_id": outcome.version_id,
                "content_sha256": outcome.content_sha256,
                "evidence_sha256": outcome.evidence_sha256,
            }
        case FileOutcome():
            return {"file_id": outcome.file_id, "content_sha256": outcome.content_sha256}


def rejected(letter: Letter, error: ChanceryError, at: datetime) -> Event:
    """Return the outcome of a submission of which nothing was applied."""
    detail = REUSED if isinstance(error, KeyReused) else error.detail
    return rejected_for(letter, error.code, detail, field=_field(letter, error), at=at)


def rejected_for(
    letter: Letter, code: str, detail: str, *, field: str | None, at: datetime
) -> Event:
    """Return the rejection with a code and a sentence."""
    data = IntakeRejected(
        submission_type=letter.type[:200],
        intake_sequence=letter.sequence,
        code=code[:64],
        detail=detail[:1000],
        field=field,
    )
    return _outcome(letter, data, None, at=at)


def _field(letter: Letter, error: ChanceryError) -> str | None:
    """Return where the sender finds it: what a command names stands in the event's data.

    What is not found in a workspace is told to its members only; nobody else is told more than that
    there is no such workspace.
    """
    if isinstance(error, KeyReused):
        return "id"
    if error.field is None:
        if isinstance(error, TooLarge):
            return "data.content_sha256"
        if isinstance(error, NotFound):
            return _resource_field(letter.type)
        return WORKSPACE_FIELD if isinstance(error, NotPermitted) else None
    named = error.field in _ATTRIBUTES or error.field.startswith(_PLACES)
    return (error.field if named else f"data.{error.field}")[:200]


def _resource_field(type_name: str) -> str:
    model = MODELS.get(type_name)
    known = () if model is None else model.model_fields
    return next((f"data.{name}" for name in _NAMING if name in known), WORKSPACE_FIELD)


def _outcome(letter: Letter, data: EventData, request_sha256: str | None, *, at: datetime) -> Event:
    names = (letter.tenant, letter.principal, letter.event_id)
    verdict = request_sha256 or f"rejected {letter.sequence}"
    return Event(
        envelope=Envelope(
            id=derived_id("intake", *names, verdict),
            source=SOURCE,
            type=data.TYPE,
            subject=letter.event_id,
            time=at,
            tenant=letter.tenant,
            actor=letter.principal,
            causationid=letter.event_id,
            requestsha256=request_sha256,
        ),
        data=data,
    )
