"""The HTTP application: every route, and the one shape of every error."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from chancery.events.declarations import as_written
from chancery.events.topology_requests import REQUESTS
from chancery.gateway.domain.problems import (
    VIOLATIONS_MAX,
    Problem,
    Violation,
    invalid_request,
)
from chancery.gateway.handlers import (
    access,
    blobs,
    bulk,
    conversations,
    corpora,
    datasets,
    excerpts,
    files,
    health,
    items,
    refreshing,
    runs,
    searching,
    serving,
    sources,
)
from chancery.gateway.handlers.arriving import USUAL_PACE, Pace
from chancery.gateway.handlers.edge import Context, Edge, prove, refuse_unknown_parameters
from chancery.gateway.handlers.intake import Intake
from chancery.gateway.handlers.refusing import ProblemResponse, problem_response
from chancery.gateway.handlers.watching import create_watch
from chancery.kernel.errors import ChanceryError, NotFound, Rejected
from chancery.runtime.misspelled import fields_at
from chancery.runtime.sentences import Misfit, first_misfit, sentence_of
from chancery.runtime.telemetry import current_trace_id

UPLOAD_BYTES_MAX = 16 * 1024 * 1024

_SENT = frozenset(each.request for each in REQUESTS if "gateway" in each.clients) - frozenset(
    each.reply for each in REQUESTS
)
"""The names of the requests that are made of what a caller sends, and of nothing else."""

_ROUTERS = (
    health.router,
    access.router,
    sources.router,
    bulk.router,
    serving.router,
    blobs.router,
    datasets.router,
    items.router,
    files.router,
    corpora.router,
    conversations.router,
    runs.router,
    searching.router,
    refreshing.router,
    excerpts.router,
)


def _included() -> APIRouter:
    together = APIRouter(
        dependencies=[Depends(refuse_unknown_parameters)],
        responses={"4XX": {"model": Problem, "description": "RFC 9457 problem document"}},
    )
    for router in _ROUTERS:
        together.include_router(router)
    return together


_ROUTES: Final = tuple(_included().routes)
"""Every route, with what all share. Each surface has the same ones: to include them anew would
take a tenth of a second of its first request."""


def create_surface(
    edge: Edge,
    *,
    upload_bytes_max: int = UPLOAD_BYTES_MAX,
    registry: CollectorRegistry | None = None,
    pace: Pace = USUAL_PACE,
) -> FastAPI:
    """Return the HTTP application over `edge`; its numbers join those in `registry`."""
    registry = CollectorRegistry() if registry is None else registry
    surface = FastAPI(
        title="Chancery",
        version="1",
        description="Answers only from evidence the caller may read, and proves it.",
        docs_url=None,
        redoc_url=None,
        # A redirect would repeat whatever Host the request names.
        redirect_slashes=False,
        routes=list(_ROUTES),
    )
    surface.state.edge, surface.state.registry = edge, registry
    surface.add_exception_handler(ChanceryError, _refused)
    surface.add_exception_handler(RequestValidationError, _invalid)
    surface.add_exception_handler(ValidationError, _unfit)
    surface.add_exception_handler(HTTPException, _no_route)
    watch = create_watch((each for router in _ROUTERS for each in router.routes), registry)
    surface.add_middleware(
        Intake,
        upload_bytes_max=upload_bytes_max,
        watch=watch,
        prove=lambda call: prove(Context(call, edge)),
        room=edge.room,
        pace=pace,
    )
    return surface


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ChanceryError)
    return problem_response(error)


async def _unfit(_request: Request, error: Exception) -> Response:
    """Tell what the owner's request refuses of a body that asked for it; all else is a bug."""
    assert isinstance(error, ValidationError)
    if error.title not in _SENT:
        raise error
    misfit = first_misfit(error)
    violation = Violation(field=_place(misfit.loc), detail=sentence_of(misfit))
    return ProblemResponse(invalid_request((violation,), current_trace_id()))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # A misspelt field is missing as well: what was written says more than what was not.
    found = sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    route = request.scope.get("route")
    violations = [
        Violation(
            field=as_written(_place(each.loc), error.body),
            detail=sentence_of(each, _known(route, each.loc)),
        )
        for each in map(Misfit.model_validate, found[:VIOLATIONS_MAX])
    ]
    return ProblemResponse(invalid_request(violations, current_trace_id()))


def _known(route: object, location: tuple[int | str, ...]) -> frozenset[str]:
    """Return the fields that a route's body has where the validator found one too many."""
    if not isinstance(route, APIRoute) or location[:1] != ("body",):
        return frozenset()
    bodies = [each.field_info.annotation for each in route.dependant.body_params]
    return frozenset(name for each in bodies for name in fields_at(each, location[1:-1]))


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
