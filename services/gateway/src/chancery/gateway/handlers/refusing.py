"""Refusals as HTTP responses, all in the one shape of a problem document."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chancery.gateway.domain.problems import Problem, problem_of
from chancery.gateway.errors import status_of
from chancery.gateway.handlers.watching import sight_of
from chancery.kernel.errors import ChanceryError
from chancery.runtime.telemetry import current_trace_id

_RETRY_AFTER_S = {429: "60", 503: "1"}
"""The statuses that say when to come back."""


class ProblemResponse(Response):
    """A problem document; whoever watches the request learns its code."""

    media_type = "application/problem+json"

    def __init__(self, problem: Problem) -> None:
        """Make the response of `problem`, with the headers that its status needs."""
        headers = {"Cache-Control": "no-store"}
        if problem.status == 401:  # noqa: PLR2004 - the one status that has to name its scheme
            headers["WWW-Authenticate"] = "Bearer"
        if problem.status in _RETRY_AFTER_S:
            headers["Retry-After"] = _RETRY_AFTER_S[problem.status]
        body = problem.model_dump_json(exclude_none=True)
        super().__init__(body, status_code=problem.status, headers=headers)
        self.code = problem.code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        sight = sight_of(scope)
        if sight is not None:
            sight.code = self.code
        await super().__call__(scope, receive, send)


def problem_response(error: ChanceryError, status: int | None = None) -> Response:
    """Return `error` as an HTTP response, with the status of its kind unless one is given."""
    status = status_of(error) if status is None else status
    return ProblemResponse(problem_of(error, current_trace_id(), status))
