"""Private files: uploaded by a principal, read and asked by the same one, by nobody else."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from chancery.events import commands, queries
from chancery.events.authority import LINE_PATTERN
from chancery.gateway.domain.knowledge import FileReply
from chancery.gateway.handlers.edge import Here, PathId
from chancery.gateway.handlers.uploads import Target, receive_upload

router = APIRouter(prefix="/v1/files", tags=["files"])

NOWHERE = "files"
"""Stands where a workspace would: a file belongs to none, and its owner does not read this."""

FileTitle = Annotated[str, Query(min_length=1, max_length=300, pattern=LINE_PATTERN)]
_BODY = {"*/*": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "",
    status_code=202,
    openapi_extra={"requestBody": {"required": True, "content": _BODY}},
)
async def upload_file(request: Request, here: Here, title: FileTitle = "file") -> FileReply:
    """Keep a document that only the caller may ask; send it as a source's revision is sent."""
    file_id = here.call.created_id("file")
    stored = await receive_upload(request, here, Target(NOWHERE, "file", file_id))
    command = commands.UploadFile(
        file_id=file_id,
        title=title,
        content_sha256=stored.sha256,
        media_type=stored.media_type,
        size_bytes=stored.size_bytes,
    )
    outcome = await stored.here.command("ingestion", "upload-file", command, commands.Outcome)
    return FileReply(
        file_id=file_id,
        content_sha256=stored.sha256,
        media_type=stored.media_type,
        size_bytes=stored.size_bytes,
        sequence=outcome.sequence,
        state="pending",
    )


@router.get("")
async def list_files(here: Here) -> queries.FileList:
    """Return the caller's files with the state of each in the index."""
    return await here.query("release", "files", queries.OwnFiles(), queries.FileList)


@router.delete("/{file}")
async def delete_file(file: PathId, here: Here) -> commands.Outcome:
    """Delete a file for good; answers that used it are withheld from then on."""
    command = commands.DeleteFile(file_id=file)
    return await here.command("ingestion", "delete-file", command, commands.Outcome)
