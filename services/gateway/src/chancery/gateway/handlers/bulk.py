"""Publishing many documents in one request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter

from chancery.events import commands
from chancery.events.commands_bulk import (
    BulkDocument,
    CheckBulkUpload,
    DocumentsPublished,
    PublishDocuments,
)
from chancery.gateway.domain.bulk import (
    DocumentBody,
    DocumentReply,
    DocumentsBody,
    DocumentsReply,
    refused,
    reply_of,
)
from chancery.gateway.domain.media import check_document, uploaded_type
from chancery.gateway.handlers.edge import Context, Here, PathId
from chancery.kernel.errors import Rejected
from chancery.store.blobs import Blobs

PUTS_AT_ONCE = 16

router = APIRouter(prefix="/v1/workspaces/{ws}/sources", tags=["sources"])


@router.post("", status_code=202)
async def publish_documents(ws: PathId, body: DocumentsBody, here: Here) -> DocumentsReply:
    """Declare the sources that are new, and publish each document whose content is.

    A document that is refused does not keep the others from being published.
    """
    await here.query(
        "ingestion",
        "bulk-permission",
        CheckBulkUpload(workspace_id=ws),
        commands.Outcome,
    )
    stored = await _stored(here, body.documents)
    documents = tuple(one for one in stored if isinstance(one, BulkDocument))
    told: dict[str, DocumentReply] = {}
    if documents:
        command = PublishDocuments(workspace_id=ws, documents=documents)
        published = await here.command(
            "ingestion", "publish-documents", command, DocumentsPublished
        )
        told = {one.source_id: reply_of(one) for one in published.documents}
    return DocumentsReply(
        documents=tuple(
            one if isinstance(one, DocumentReply) else told[one.source_id] for one in stored
        )
    )


async def _stored(
    here: Context, documents: Sequence[DocumentBody]
) -> list[BulkDocument | DocumentReply]:
    """Store what may be published; a document that may not be is its refusal instead."""
    slots = asyncio.Semaphore(PUTS_AT_ONCE)
    blobs, tenant = here.edge.blobs, here.call.caller.tenant

    async def store(document: DocumentBody) -> BulkDocument | DocumentReply:
        async with slots:
            try:
                return await _store(blobs, tenant, document)
            except Rejected as error:
                return refused(document.source_id, error)

    try:
        async with asyncio.TaskGroup() as group:
            storing = [group.create_task(store(document)) for document in documents]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [each.result() for each in storing]


async def _store(blobs: Blobs, tenant: str, document: DocumentBody) -> BulkDocument:
    data, media_type = document.data(), uploaded_type(document.media_type)
    check_document(media_type, data)
    return BulkDocument(
        source_id=document.source_id,
        title=document.title,
        visibility=document.visibility,
        content_sha256=await blobs.put(tenant, data),
        media_type=media_type,
        size_bytes=len(data),
        restore=document.restore,
    )
