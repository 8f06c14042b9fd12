"""Request and reply on core NATS: who asks, with what proof, and how a refusal is told."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from chancery.events.envelope import Id, Sha256
from chancery.kernel.errors import (
    ChanceryError,
    Conflict,
    Corrupt,
    Denied,
    NotFound,
    Rejected,
    TooLarge,
    Unavailable,
)

Kind = Literal[
    "rejected", "not_found", "unauthenticated", "too_large", "conflict", "unavailable", "corrupt"
]

_CLASSES: tuple[tuple[Kind, type[ChanceryError]], ...] = (
    ("not_found", NotFound),
    ("unauthenticated", Denied),
    ("too_large", TooLarge),
    ("rejected", Rejected),
    ("conflict", Conflict),
    ("corrupt", Corrupt),
    ("unavailable", Unavailable),
)


class Message(BaseModel):
    """A body of a request or a reply; unknown fields of a request are refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Caller(Message):
    """The credential behind a request; the answering owner checks it, not only the gateway.

    `proof` is SHA-256 of the secret's text in hex; the secret itself stays in the gateway.
    """

    tenant: Id
    principal: Id
    credential_id: Id
    proof: Sha256


Body = TypeVar("Body", bound=Message)


class Request(Message, Generic[Body]):
    """What a service is asked to do or tell.

    `route` is method and path; with tenant, principal and `idempotency_key` it names the outcome.
    `request_sha256` is over the caller's request body.
    """

    caller: Caller
    route: str = Field(min_length=1, max_length=500)
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)]
    request_sha256: Sha256
    traceparent: str | None = Field(default=None, max_length=55)
    body: Body


class Failure(Message):
    """A refusal as it crosses the bus; `detail` is safe to show to the caller."""

    kind: Kind
    code: str = Field(min_length=1, max_length=64)
    detail: str = Field(max_length=1000)
    field: str | None = Field(default=None, max_length=200)

    @classmethod
    def of(cls, error: ChanceryError) -> Failure:
        """Return `error` as it is told to the asking service."""
        kinds: list[Kind] = [name for name, kind in _CLASSES if isinstance(error, kind)]
        return cls(
            kind=kinds[0] if kinds else "unavailable",
            code=error.code[:64],
            detail=error.detail[:1000],
            field=error.field[:200] if error.field is not None else None,
        )

    def to_error(self) -> ChanceryError:
        """Return the error that the other side raised."""
        return dict(_CLASSES)[self.kind](self.detail, field=self.field, code=self.code)


class Reply(Message, Generic[Body]):
    """Either the answer or the refusal, never both."""

    body: Body | None = None
    failure: Failure | None = None


_KEPT: set[type[Message]] = set()
"""Pydantic knows a type it made for as long as somebody holds it, and else makes it again."""


def request_type(body: type[Body]) -> type[Request[Body]]:
    """Return `Request[body]`, made once."""
    made = Request[body]
    _KEPT.add(made)
    return made


def reply_type(body: type[Body]) -> type[Reply[Body]]:
    """Return `Reply[body]`, made once."""
    made = Reply[body]
    _KEPT.add(made)
    return made
