"""CloudEvents 1.0 in structured JSON: the envelope around every message on a stream.

Source: CloudEvents 1.0.2, section "Context Attributes"; NATS protocol binding, structured mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from chancery.kernel.canonical import SAFE_INTEGER_MAX
from chancery.kernel.clock import to_text

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""An id that may be a subject token."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 digest in lower-case hex."""


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        message = "the moment lies outside the years 1 to 9999 in UTC"
        raise ValueError(message) from error


Moment = Annotated[
    AwareDatetime, AfterValidator(_in_utc), PlainSerializer(to_text, return_type=str)
]
"""A moment in UTC, written as RFC 3339 with microseconds."""

# JSON that is canonical carries no greater integer, so that the schemas need not say it; without
# the limit an event could be decoded that nobody can encode.
Exact = Annotated[
    int,
    Field(ge=-SAFE_INTEGER_MAX, le=SAFE_INTEGER_MAX),
    WithJsonSchema({"type": "integer"}),
]
"""An integer that every reader of JSON reads as it was written."""

Whole = Annotated[
    int,
    Field(ge=0, le=SAFE_INTEGER_MAX),
    WithJsonSchema({"minimum": 0, "type": "integer"}),
]
"""A count or an offset."""

Ordinal = Annotated[
    int,
    Field(ge=1, le=SAFE_INTEGER_MAX),
    WithJsonSchema({"minimum": 1, "type": "integer"}),
]
"""A number of something that is counted from 1."""

Position = Whole
"""A sequence number of a stream; 0 means before the first message."""

_Each = TypeVar("_Each")
Many: TypeAlias = Annotated[tuple[_Each, ...], Field(fail_fast=True)]
"""A list that is read up to its first wrong entry: an error of each would be made before one is
told, for as many as anybody sends."""

SIZE_BYTES_MAX = 256 * 1024
"""No event exceeds this; text and values travel as blobs that an event names by hash."""


class EventData(BaseModel):
    """What happened; each subclass is one version of one event type.

    Unknown fields are ignored, so that a reader survives an added optional field.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    TYPE: ClassVar[str]
    """The CloudEvents type, `chancery.<aggregate>.<past-tense>.v<N>`."""


class Envelope(BaseModel):
    """The context attributes of a CloudEvent; extension attributes follow its lower-case rule.

    `subject` is the aggregate's id, `actor` the principal who caused it, `requestsha256` the hash
    of the request body (so that an idempotency key with another body is refused).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"] = "1.0"
    id: Id
    source: str = Field(min_length=1, max_length=200)
    type: str = Field(min_length=1, max_length=200)
    subject: str = Field(min_length=1, max_length=200)
    time: Moment
    datacontenttype: Literal["application/json"] = "application/json"
    tenant: Id
    actor: Id | None = None
    causationid: str | None = Field(default=None, max_length=200)
    correlationid: str | None = Field(default=None, max_length=200)
    traceparent: str | None = Field(default=None, max_length=55)
    requestsha256: Sha256 | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An envelope with its decoded data; `data` is the newest version of its type."""

    envelope: Envelope
    data: EventData

    @property
    def id(self) -> str:
        """Return the event id, which is also its `Nats-Msg-Id`."""
        return self.envelope.id

    @property
    def tenant(self) -> str:
        """Return the tenant that the event belongs to."""
        return self.envelope.tenant

    @property
    def time(self) -> datetime:
        """Return when it happened, in UTC."""
        return self.envelope.time
