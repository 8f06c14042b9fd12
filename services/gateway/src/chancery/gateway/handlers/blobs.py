"""Bytes that are too large for the bus: uploaded here, then submitted over it by their hash."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request

from chancery.gateway.domain.bodies import BlobReply
from chancery.gateway.handlers.edge import Here, prove
from chancery.gateway.handlers.uploads import receive_bytes
from chancery.kernel.errors import Rejected
from chancery.store.blobs import upload_place

router = APIRouter(prefix="/v1/blobs", tags=["sources"])

SENT_BYTES: Final = 5 * 1024 * 1024
"""How much of a blob an object store is sent at once."""

_BODY: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "",
    status_code=201,
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def upload_blob(request: Request, here: Here) -> BlobReply:
    """Store bytes for a submission of the same principal; nobody else can name them."""
    await prove(here)
    caller, room = here.call.caller, here.edge.room
    place = upload_place(caller.principal)
    async with here.edge.blobs.receiving(caller.tenant, run=place) as incoming:
        async with room.arriving(caller):
            await receive_bytes(request, incoming)
            if not incoming.size:
                message = "send the bytes as the body"
                raise Rejected(message, field="body", code="empty_content")
            async with room.whole(min(incoming.size, SENT_BYTES)):
                sha256 = await incoming.keep()
        return BlobReply(sha256=sha256, size_bytes=incoming.size)
