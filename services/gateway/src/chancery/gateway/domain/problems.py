"""Problem documents: the one shape of every error.

Source: RFC 9457, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict

from chancery.kernel.errors import ChanceryError

VIOLATIONS_MAX = 20
FIELD_CHARACTERS_MAX = 200
_FIELD_OF: Mapping[int, str] = {HTTPStatus.UNAUTHORIZED: "Authorization"}
"""What a request has to change for a status, whatever the refusal behind it."""


class Violation(BaseModel):
    """One input that has to change; `field` is a dotted path into the request."""

    model_config = ConfigDict(frozen=True)

    field: str
    detail: str


class Problem(BaseModel):
    """An error as a caller sees it; `code` is stable, `trace_id` finds the trace of the request."""

    model_config = ConfigDict(frozen=True)

    type: str
    title: str
    status: int
    detail: str
    code: str
    trace_id: str
    field: str | None = None
    errors: tuple[Violation, ...] | None = None


def problem_of(error: ChanceryError, trace_id: str, status: int) -> Problem:
    """Return `error` as the problem document of a response with `status`."""
    return Problem(
        type=f"urn:chancery:problem:{error.code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=error.detail,
        code=error.code,
        trace_id=trace_id,
        field=error.field or _FIELD_OF.get(status),
    )


def invalid_request(violations: Sequence[Violation], trace_id: str) -> Problem:
    """Return the problem of a request whose fields break their bounds; the first one leads.

    What is told has bounds of its own: a caller can send any number of wrong fields of any length.
    """
    shown = tuple(
        Violation(field=each.field[:FIELD_CHARACTERS_MAX], detail=each.detail)
        for each in violations[:VIOLATIONS_MAX]
    )
    first = shown[0]
    return Problem(
        type="urn:chancery:problem:invalid_request",
        title=HTTPStatus.UNPROCESSABLE_ENTITY.phrase,
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        detail=f"{first.field}: {first.detail}",
        code="invalid_request",
        trace_id=trace_id,
        field=first.field,
        errors=shown,
    )
