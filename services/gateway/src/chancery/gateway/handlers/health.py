"""Is the process alive, and do the owners behind it answer?"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from chancery.events import commands, queries
from chancery.events.requests import Caller
from chancery.events.requests import Request as OwnerRequest
from chancery.events.topology import query_subject
from chancery.gateway.handlers.edge import Edge
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.kernel.ids import random_id

router = APIRouter(tags=["edge"])

_NOBODY = Caller(tenant="default", principal="nobody", credential_id="none", proof="0" * 64)
"""A caller that every owner refuses; a refusal shows that the owner is at work."""


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Tell that the process serves requests."""
    return {"status": "alive"}


@router.get("/readyz", responses={503: {"description": "an owner does not answer"}})
async def readyz(request: Request) -> JSONResponse:
    """Tell whether release and ingestion answer."""
    edge: Edge = request.app.state.edge
    away = await unanswered(edge)
    body = {"status": "ready" if not away else "not ready", "waiting_for": away}
    return JSONResponse(body, status_code=503 if away else 200)


@router.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Return the metrics of this process in the Prometheus text format."""
    registry: CollectorRegistry = request.app.state.registry
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


async def unanswered(edge: Edge) -> list[str]:
    """Return the owners that do not answer now."""
    away: list[str] = []
    try:
        subject = query_subject("release", "identity")
        await edge.owners.ask(subject, _probe(queries.WhoAmI()), queries.Identity)
    except ChanceryError as error:
        away += ["release"] if isinstance(error, Unavailable) else []
    try:
        subject = query_subject("ingestion", "upload-permission")
        question = commands.CheckUpload(workspace_id="none", kind="source", resource_id="none")
        await edge.owners.ask(subject, _probe(question), commands.Outcome)
    except ChanceryError as error:
        away += ["ingestion"] if isinstance(error, Unavailable) else []
    return away


def _probe(
    body: queries.WhoAmI | commands.CheckUpload,
) -> OwnerRequest[queries.WhoAmI | commands.CheckUpload]:
    return OwnerRequest[queries.WhoAmI | commands.CheckUpload](
        caller=_NOBODY,
        route="GET /readyz",
        idempotency_key=random_id(),
        request_sha256=sha256_hex(b""),
        body=body,
    )
