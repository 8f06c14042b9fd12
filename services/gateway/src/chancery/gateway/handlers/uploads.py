"""Bytes on their way in: read whole, checked, permitted, and only then stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from chancery.events import commands
from chancery.gateway.domain.bodies import RevisionBody
from chancery.gateway.domain.media import (
    UnsupportedMediaType,
    check_document,
    check_table,
    essence,
)
from chancery.gateway.domain.problems import FIELD_CHARACTERS_MAX
from chancery.gateway.handlers.edge import Context
from chancery.kernel.errors import Rejected


@dataclass(frozen=True, slots=True)
class Upload:
    """The bytes that a caller wants to publish, and what they are."""

    media_type: str
    data: bytes


async def read_upload(request: Request) -> Upload:
    """Return the upload in a raw body, a multipart file, or JSON `{media_type, text}`.

    Raises:
        Rejected: when the body has none of these forms.
    """
    media_type = essence(request.headers.get("content-type", ""))
    if media_type == "application/json":
        return _from_json(await request.body())
    if media_type == "multipart/form-data":
        return await _from_form(request)
    if not media_type:
        message = "send a Content-Type header that says what the body is"
        raise UnsupportedMediaType(message, field="Content-Type")
    return Upload(media_type, await request.body())


async def permit_upload(
    here: Context, workspace_id: str, kind: commands.ResourceKind, resource_id: str
) -> None:
    """Ask whether the caller may add content; nothing of it is looked at before.

    Raises:
        Rejected: the caller may not.
    """
    question = commands.CheckUpload(workspace_id=workspace_id, kind=kind, resource_id=resource_id)
    await here.query("ingestion", "upload-permission", question, commands.Outcome)


async def store_upload(
    here: Context, workspace_id: str, kind: commands.ResourceKind, resource_id: str, upload: Upload
) -> str:
    """Check and store the bytes, once the caller is known to be allowed; return their hash.

    Raises:
        Rejected: when the bytes could never be quoted or queried.
    """
    await permit_upload(here, workspace_id, kind, resource_id)
    check = check_table if kind == "dataset" else check_document
    await asyncio.to_thread(check, upload.media_type, upload.data)
    return await here.edge.blobs.put(here.call.caller.tenant, upload.data)


def _from_json(body: bytes) -> Upload:
    try:
        revision = RevisionBody.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])[:FIELD_CHARACTERS_MAX]
        message = "send {media_type, text} with a text that is not empty"
        raise Rejected(message, field=place or "body", code="invalid_request") from error
    return Upload(essence(revision.media_type), revision.text.encode())


async def _from_form(request: Request) -> Upload:
    message = "send a multipart form with exactly one part, a file named file"
    try:
        async with request.form(max_files=1, max_fields=0) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise Rejected(message, field="file", code="malformed_form")
            return Upload(essence(file.content_type or ""), await file.read())
    except HTTPException as error:
        raise Rejected(message, field="body", code="malformed_form") from error
