"""The HTTP application: every route, and the one shape of every error."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from chancery.gateway.domain.problems import Problem, Violation, invalid_request
from chancery.gateway.handlers import (
    access,
    blobs,
    conversations,
    datasets,
    health,
    runs,
    serving,
    sources,
)
from chancery.gateway.handlers.edge import Edge
from chancery.gateway.handlers.intake import Intake, problem_response
from chancery.kernel.errors import ChanceryError, NotFound, Rejected
from chancery.runtime.telemetry import current_trace_id

UPLOAD_BYTES_MAX = 16 * 1024 * 1024

_ROUTERS = (
    health.router,
    access.router,
    sources.router,
    serving.router,
    blobs.router,
    datasets.router,
    conversations.router,
    runs.router,
)


def create_surface(edge: Edge, *, upload_bytes_max: int = UPLOAD_BYTES_MAX) -> FastAPI:
    """Return the HTTP application over `edge`."""
    surface = FastAPI(
        title="Chancery",
        version="1",
        description="Answers only from evidence the caller may read, and proves it.",
        docs_url=None,
        redoc_url=None,
        # A redirect would repeat whatever Host the request names.
        redirect_slashes=False,
        responses={"4XX": {"model": Problem, "description": "RFC 9457 problem document"}},
    )
    surface.state.edge = edge
    for router in _ROUTERS:
        surface.include_router(router)
    surface.add_exception_handler(ChanceryError, _refused)
    surface.add_exception_handler(RequestValidationError, _invalid)
    surface.add_exception_handler(HTTPException, _no_route)
    surface.add_middleware(Intake, upload_bytes_max=upload_bytes_max)
    return surface


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ChanceryError)
    return problem_response(error)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    violations = [
        Violation(field=_place(item["loc"]), detail=str(item["msg"])) for item in error.errors()
    ]
    problem = invalid_request(violations, current_trace_id())
    return Response(
        problem.model_dump_json(exclude_none=True),
        status_code=problem.status,
        media_type="application/problem+json",
    )


async def _no_route(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:  # noqa: PLR2004 - the route does not exist
        return problem_response(NotFound("there is no such route or thing"))
    message = "the route does not take this method or body"
    refused = problem_response(Rejected(message, code="not_allowed"), error.status_code)
    refused.headers.update(error.headers or {})
    return refused


def _place(location: tuple[int | str, ...]) -> str:
    steps = location[1:] if location and location[0] in {"body", "path", "query"} else location
    return ".".join(str(step) for step in steps) or str(location[0])
