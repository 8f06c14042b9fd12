"""What a reply to a statement means: right, refused as it should be, or a violation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

Kind = Literal["good", "slow", "huge", "hostile"]
Verdict = Literal[
    "right", "refused", "ended", "answered", "busy",
    "wrong answer", "hostile accepted", "secret told", "broken reply",
]  # fmt: skip

VIOLATIONS: Final = frozenset({"wrong answer", "hostile accepted", "secret told", "broken reply"})
REFUSALS: Final = frozenset({"invalid_request"})
"""What the edge answers to a statement that is too long for its field."""

BUSY: Final = frozenset({"sql_busy", "sql_too_many_queries", "sql_worker_unavailable"})
"""Codes with which a statement is to be sent again."""

Rows = tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A statement, and for a good one the rows that it has to return."""

    kind: Kind
    sql: str
    rows: Rows = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back over HTTP."""

    status: int
    body: str


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore")

    rows: Rows


class _Problem(BaseModel):
    model_config = ConfigDict(extra="ignore")

    code: str


def code_of(reply: Reply) -> str:
    """Return the code of a problem document, "" for a result or anything else."""
    try:
        return "" if reply.status == 200 else _Problem.model_validate_json(reply.body).code
    except ValidationError:
        return ""


def judge(case: Case, reply: Reply, secrets: tuple[str, ...]) -> Verdict:
    """Return what the reply means; a secret in it is worse than anything else.

    A refusal may repeat a name of the statement.
    """
    if any(secret in reply.body and secret not in case.sql for secret in secrets):
        return "secret told"
    code = code_of(reply)
    if reply.status == 200:
        return _accepted(case, reply)
    if code in BUSY:
        return "busy"
    is_refusal = code.startswith("sql_") or code in REFUSALS
    if not is_refusal or reply.status >= 500:
        return "broken reply"
    if case.kind == "good":
        return "wrong answer"
    return "refused" if case.kind == "hostile" else "ended"


def _accepted(case: Case, reply: Reply) -> Verdict:
    try:
        found = _Result.model_validate_json(reply.body)
    except ValidationError:
        return "broken reply"
    match case.kind:
        case "hostile":
            return "hostile accepted"
        case "good":
            return "right" if found.rows == case.rows else "wrong answer"
        case "slow" | "huge":
            return "answered"
