"""A message of another service as a submission: who sent it, under which id, asking for what.

Structured and binary mode are read alike. Source: CloudEvents 1.0.2 and its NATS protocol binding,
section 3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from chancery.events.codec import UPCASTERS
from chancery.events.declarations import name_as_written
from chancery.events.envelope import SIZE_BYTES_MAX, EventData, Id
from chancery.events.intake import (
    DatasetSubmitted,
    DocumentSubmitted,
    DraftSubmitted,
    FileDeletionSubmitted,
    FileSubmitted,
    PublicationSubmitted,
    ResourceWithdrawalSubmitted,
    RevisionSubmitted,
    SnapshotSubmitted,
    SourceSubmitted,
    WithdrawalSubmitted,
)
from chancery.ingestion.errors import InvalidSubmission
from chancery.kernel.canonical import Json, canonical_hash, parse_json
from chancery.kernel.errors import Corrupt
from chancery.runtime.sentences import first_misfit, sentence_of

WithContent = DocumentSubmitted | SnapshotSubmitted | DraftSubmitted | FileSubmitted
"""Submissions that bring bytes, in themselves or as an upload."""

Submitted = (
    WithContent
    | SourceSubmitted
    | DatasetSubmitted
    | PublicationSubmitted
    | ResourceWithdrawalSubmitted
    | FileDeletionSubmitted
)
"""What is submitted, in its newest version."""

_NEWEST: Mapping[str, type[Submitted]] = {
    model.TYPE: model
    for model in (
        SourceSubmitted,
        DocumentSubmitted,
        DatasetSubmitted,
        SnapshotSubmitted,
        DraftSubmitted,
        PublicationSubmitted,
        ResourceWithdrawalSubmitted,
        FileSubmitted,
        FileDeletionSubmitted,
    )
}
_MODELS: Mapping[str, type[EventData]] = {
    **_NEWEST,
    RevisionSubmitted.TYPE: RevisionSubmitted,
    WithdrawalSubmitted.TYPE: WithdrawalSubmitted,
}
"""What is taken, older versions too."""

_AT_FIRST: Mapping[str, Mapping[str, Json]] = {
    SourceSubmitted.TYPE: {"visibility": "workspace"},
    DatasetSubmitted.TYPE: {
        "visibility": "workspace",
        "columns": {},
        "row_filters": [],
        "measures": [],
    },
}
"""What is declared of something new when nothing is said of it."""

_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}"
    r"(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_SECONDS = slice(17, 19)
_ID = TypeAdapter(Id)
_BINARY_PREFIX = "ce-"
_SUBJECT_TOKENS_MIN = 4
ENTRIES_MAX = 1000
"""As many as the values of a row filter may be; nothing else of a submission has more."""

_FIELD_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and its sender, as the subject that the bus let it send on says.

    `event_id` is the event's own, or `sequence-<n>` when it has none that can be a subject token.
    """

    tenant: str
    principal: str
    type: str
    event_id: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Submission:
    """What a letter asks for; the hash tells a repetition from another use of the same id.

    The hash is that of the version which was sent, `data` is the newest one.
    """

    letter: Letter
    data: Submitted
    request_sha256: str
    traceparent: str | None


def _rfc3339(text: str) -> str:
    """Return a moment as it was written; nothing here goes by what a sender's clock says.

    Source: RFC 3339, section 5.6. A leap second is one too, though no datetime has it.
    """
    if _MOMENT.fullmatch(text) is None or not _is_on_the_calendar(text):
        message = "must be a moment as 2026-01-31T12:00:00Z"
        raise ValueError(message)
    return text


def _is_on_the_calendar(text: str) -> bool:
    is_leap = text[_SECONDS] == "60"
    whole = f"{text[: _SECONDS.start]}59{text[_SECONDS.stop :]}" if is_leap else text
    try:
        datetime.fromisoformat(whole.upper())
    except ValueError:
        return False
    return True


class _Attributes(BaseModel):
    """What CloudEvents demands, and of what it allows that which is read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"]
    id: Id
    source: Annotated[str, Field(min_length=1, max_length=200)]
    type: Annotated[str, Field(min_length=1, max_length=200)]
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    time: Annotated[str, AfterValidator(_rfc3339)] | None = None
    datacontenttype: Literal["application/json"] | None = None
    tenant: str | None = None
    traceparent: Annotated[str, Field(max_length=55)] | None = None


def letter_of(
    subject: str, payload: bytes, headers: Mapping[str, str], sequence: int
) -> Letter | None:
    """Return the letter on an intake subject, None when the subject names no sender."""
    tokens = subject.split(".")
    if len(tokens) < _SUBJECT_TOKENS_MIN:
        return None
    _, tenant, principal, *rest = tokens
    try:
        event_id = _ID.validate_python(_parts(payload, headers)[0].get("id"))
    except (InvalidSubmission, ValidationError):
        event_id = f"sequence-{sequence}"
    return Letter(tenant, principal, ".".join(rest), event_id, sequence)


def read_submission(letter: Letter, payload: bytes, headers: Mapping[str, str]) -> Submission:
    """Return what the letter asks for.

    Raises:
        InvalidSubmission: naming the first field that has to be changed.
    """
    if len(payload) > SIZE_BYTES_MAX:
        message = (
            "the event is larger than 256 KiB; upload its text with POST /v1/blobs and submit the"
            " hash that this returns as content_sha256"
        )
        raise InvalidSubmission(message, field="data", code="event_too_large")
    attributes, data = _parts(payload, headers)
    try:
        found = _Attributes.model_validate(attributes)
    except ValidationError as error:
        raise invalid_submission(error, "") from error
    _check_sender(letter, found)
    model = _MODELS.get(found.type)
    if model is None:
        message = f"the type is none of {', '.join(sorted(_MODELS))}"
        raise InvalidSubmission(message, field="type", code="unknown_event_type")
    _check_sizes(data)
    try:
        submitted = model.model_validate(data)
    except ValidationError as error:
        refused = invalid_submission(error, "data")
        name_as_written(refused, data)
        raise refused from error
    body: dict[str, Json] = submitted.model_dump(mode="json")
    request_sha256 = canonical_hash({"type": found.type, "data": _compared(found.type, body)})
    return Submission(letter, _newest(found.type, body), request_sha256, found.traceparent)


def data_of(payload: bytes, headers: Mapping[str, str]) -> Json:
    """Return the data of a message as its sender wrote it.

    Raises:
        InvalidSubmission: there is none.
    """
    return _parts(payload, headers)[1]


def _check_sizes(data: Json) -> None:
    """Refuse more entries than anything may have, before an error is made of each wrong one.

    Raises:
        InvalidSubmission: naming where they stand.
    """
    pending: list[tuple[str, Json]] = [("data", data)]
    while pending:
        place, value = pending.pop()
        inner = value.items() if isinstance(value, Mapping) else _numbered(value)
        if len(inner) > ENTRIES_MAX:
            message = f"{place}: must have at most {ENTRIES_MAX:,} entries"
            raise InvalidSubmission(message, field=place)
        pending += (
            (f"{place}.{name}"[:_FIELD_CHARACTERS_MAX], each)
            for name, each in inner
            if isinstance(each, Mapping | list)
        )


def _numbered(value: Json) -> Sequence[tuple[int, Json]]:
    return list(enumerate(value)) if isinstance(value, list) else ()


def _compared(type_name: str, body: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return what tells a repetition: what an earlier build took has its hash still.

    It knew no `restore`, and read a part that a declaration leaves out as what it is at first.
    """
    known = {name: value for name, value in body.items() if (name, value) != ("restore", False)}
    if type_name not in _AT_FIRST:
        return known
    return known | {
        name: value for name, value in _AT_FIRST[type_name].items() if known[name] is None
    }


def _newest(type_name: str, body: Mapping[str, Json]) -> Submitted:
    while type_name in UPCASTERS:
        type_name, upcast = UPCASTERS[type_name]
        body = upcast(body)
    return _NEWEST[type_name].model_validate(body)


def _check_sender(letter: Letter, found: _Attributes) -> None:
    if found.type != letter.type:
        message = "the type is not the one that the subject names"
        raise InvalidSubmission(message, field="type", code="wrong_subject")
    if found.tenant not in {None, letter.tenant}:
        message = "the sender belongs to another tenant"
        raise InvalidSubmission(message, field="tenant", code="foreign_tenant")


def _parts(payload: bytes, headers: Mapping[str, str]) -> tuple[Mapping[str, Json], Json]:
    """Return the attributes and the data, whichever mode was used."""
    named = {name.lower(): value for name, value in headers.items()}
    body = _json(payload)
    if f"{_BINARY_PREFIX}specversion" in named:
        attributes: dict[str, Json] = {
            name.removeprefix(_BINARY_PREFIX): unquote(value)
            for name, value in named.items()
            if name.startswith(_BINARY_PREFIX)
        }
        return attributes, body
    if not isinstance(body, Mapping):
        message = "the message is no CloudEvent: send a JSON object, or ce- headers"
        raise InvalidSubmission(message, field="specversion", code="malformed_event")
    return {name: value for name, value in body.items() if name != "data"}, body.get("data")


def _json(payload: bytes) -> Json:
    try:
        return parse_json(payload.decode("utf-8"))
    except (Corrupt, UnicodeDecodeError) as error:
        message = "the message is not JSON (UTF-8, unique keys, no NaN)"
        raise InvalidSubmission(message, field="data", code="malformed_event") from error


def invalid_submission(error: ValidationError, place: str) -> InvalidSubmission:
    """Return the refusal that names the first field that does not fit, never its value."""
    first = first_misfit(error)
    name = ".".join(str(step) for step in (place, *first.loc) if step != "")
    name = (name or "data")[:_FIELD_CHARACTERS_MAX]
    return InvalidSubmission(f"{name}: {sentence_of(first)}"[:1000], field=name)
