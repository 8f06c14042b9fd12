"""Bytes that are too large for the bus: uploaded here, then submitted over it by their hash."""

from __future__ import annotations

from fastapi import APIRouter, Request

from chancery.events import queries
from chancery.gateway.domain.bodies import BlobReply
from chancery.gateway.handlers.edge import Here
from chancery.kernel.errors import Rejected
from chancery.store.blobs import upload_place

router = APIRouter(prefix="/v1/blobs", tags=["sources"])

_BODY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def upload_blob(request: Request, here: Here) -> BlobReply:
    """Store bytes for a submission of the same principal; nobody else can name them."""
    await here.query("release", "identity", queries.WhoAmI(), queries.Identity)
    data = await request.body()
    if not data:
        message = "send the bytes as the body"
        raise Rejected(message, field="body", code="empty_content")
    caller = here.call.caller
    sha256 = await here.edge.blobs.put_run(caller.tenant, upload_place(caller.principal), data)
    return BlobReply(sha256=sha256, size_bytes=len(data))
