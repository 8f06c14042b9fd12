"""What a call may end with: the server's refusal, no server, or an answer that is not there yet."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from chancery.kernel.errors import ChanceryError, Unavailable


class Problem(BaseModel):
    """An RFC 9457 problem document as the server sends it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    status: int
    code: str = "unknown"
    detail: str = "the server gave no reason"
    field: str | None = None
    trace_id: str | None = None


class ProblemError(ChanceryError):
    """The server refused; `problem` says with which status, and `trace_id` finds it in the logs."""

    code = "problem"

    def __init__(self, problem: Problem) -> None:
        """Keep the problem; its code, field and detail are the error's own."""
        super().__init__(problem.detail, field=problem.field, code=problem.code)
        self.problem = problem

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self.problem.status

    @property
    def trace_id(self) -> str | None:
        """Return the id under which operators find the request."""
        return self.problem.trace_id


class Unreachable(Unavailable):
    """No server answered at the address, or it hung up."""

    code = "unreachable"


class StillOpen(Unavailable):
    """The run has not ended yet."""

    code = "still_open"


class NotReadable(Unavailable):
    """Something answered that does not speak as Chancery does."""

    code = "not_readable"


def problem_error(status: int, body: bytes) -> ProblemError:
    """Return the refusal in a response; a body of another form keeps its status only."""
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        problem = Problem(status=status, code=f"http_{status}")
    return ProblemError(problem)
