"""Bytes on their way in: permitted, streamed to a file, checked, and only then stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from chancery.events import commands
from chancery.gateway.domain.bodies import RevisionBody
from chancery.gateway.domain.json_bodies import check_json
from chancery.gateway.domain.media import (
    UnsupportedMediaType,
    check_document,
    check_media_type,
    check_table,
    uploaded_type,
)
from chancery.gateway.domain.problems import FIELD_CHARACTERS_MAX
from chancery.gateway.handlers.arriving import Arrival
from chancery.gateway.handlers.edge import Context
from chancery.kernel.errors import Rejected
from chancery.store.blobs import Incoming
from chancery.store.spool import Spool

JSON: Final = "application/json"
FORM: Final = "multipart/form-data"
_PIECE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """The bytes that a caller wants to publish, and what they are."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """What an upload is for."""

    workspace_id: str
    kind: commands.ResourceKind
    resource_id: str


@dataclass(frozen=True, slots=True)
class Stored:
    """An upload that is stored, and the context of the call that has brought all of it."""

    here: Context
    media_type: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """An upload that waits in a file, and the context of the call that has brought all of it."""

    here: Context
    media_type: str
    spool: Spool

    @asynccontextmanager
    async def in_memory(self, *, beside_bytes: int = 0) -> AsyncGenerator[Upload]:
        """Give the upload to the block, with room in memory for so many bytes beside it.

        Raises:
            BodiesFull: when there was no room in time.
            Rejected: when the body has none of the forms of an upload.
        """
        async with self.here.edge.room.whole(self.spool.size + beside_bytes):
            data = await self.spool.read()
            yield _from_json(data) if self.media_type == JSON else Upload(self.media_type, data)


async def receive_upload(request: Request, here: Context, target: Target) -> Stored:
    """Store the upload in a raw body, a multipart file, or JSON `{media_type, text}`.

    Nothing of it is read before the caller is known to be allowed, and nothing stays of one that is
    cut off, too large, or refused.

    Raises:
        Rejected: the caller may not, or the bytes could never be quoted or queried.
    """
    await permit_upload(here, target.workspace_id, target.kind, target.resource_id)
    media_type = _media_type(request)
    if media_type == JSON:
        async with reading_upload(request, here) as (read, upload):
            sha256 = await _store(read, target.kind, upload)
            return Stored(read, upload.media_type, sha256, len(upload.data))
    if media_type != FORM:
        check_media_type(target.kind, media_type)
    async with here.edge.blobs.receiving(here.call.caller.tenant) as incoming:
        async with here.edge.room.arriving(here.call.caller):
            media_type = await _receive(request, media_type, incoming)
        async with here.edge.room.whole(incoming.size):
            upload = Upload(media_type, await incoming.read())
            await asyncio.to_thread(_check, target.kind, upload)
            sha256 = await incoming.keep()
    return Stored(received(request, here), media_type, sha256, incoming.size)


@asynccontextmanager
async def reading_upload(request: Request, here: Context) -> AsyncGenerator[tuple[Context, Upload]]:
    """Give the whole upload to the block, with the context of the call that has brought it.

    The caller has to be permitted before.

    Raises:
        Rejected: when the body has none of the forms of an upload.
    """
    async with arriving_upload(request, here) as arrived, arrived.in_memory() as upload:
        yield arrived.here, upload


@asynccontextmanager
async def arriving_upload(request: Request, here: Context) -> AsyncGenerator[Arrived]:
    """Give the upload to the block once all of it is in a file; otherwise as `reading_upload`."""
    media_type = _media_type(request)
    spool = Spool()
    try:
        async with here.edge.room.arriving(here.call.caller):
            media_type = await _receive(request, media_type, spool)
            yield Arrived(received(request, here), media_type, spool)
    finally:
        await spool.close()


async def receive_bytes(request: Request, incoming: Incoming | Spool) -> None:
    """Write the whole body to `incoming`; there has to be a place for it."""
    async for piece in request.stream():
        await incoming.write(piece)


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
    return await _store(here, kind, upload)


def received(request: Request, here: Context) -> Context:
    """Return the context of the call with its whole body, which its idempotency key stands for."""
    arrival: Arrival = request.state.arrival
    return replace(here, call=replace(here.call, request_sha256=arrival.digest.sha256()))


async def _store(here: Context, kind: commands.ResourceKind, upload: Upload) -> str:
    await asyncio.to_thread(_check, kind, upload)
    return await here.edge.blobs.put(here.call.caller.tenant, upload.data)


def _check(kind: commands.ResourceKind, upload: Upload) -> None:
    check = check_table if kind == "dataset" else check_document
    check(upload.media_type, upload.data)


def _media_type(request: Request) -> str:
    media_type = uploaded_type(request.headers.get("content-type", ""))
    if not media_type:
        message = "send a Content-Type header that says what the body is"
        raise UnsupportedMediaType(message, field="Content-Type")
    return media_type


async def _receive(request: Request, media_type: str, incoming: Incoming | Spool) -> str:
    """Write what is uploaded to `incoming` and return the media type that it has."""
    if media_type != FORM:
        await receive_bytes(request, incoming)
        return media_type
    message = "send a multipart form with exactly one part, a file named file"
    try:
        async with request.form(max_files=1, max_fields=0) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise Rejected(message, field="file", code="malformed_form")
            async for piece in _pieces(file):
                await incoming.write(piece)
            return uploaded_type(file.content_type or "")
    except HTTPException as error:
        raise Rejected(message, field="body", code="malformed_form") from error


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(_PIECE_BYTES):
        yield piece


def _from_json(body: bytes) -> Upload:
    check_json(body)
    try:
        revision = RevisionBody.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])[:FIELD_CHARACTERS_MAX]
        message = "send {media_type, text} with a text that is not empty"
        raise Rejected(message, field=place or "body", code="invalid_request") from error
    return Upload(uploaded_type(revision.media_type), revision.text.encode())
