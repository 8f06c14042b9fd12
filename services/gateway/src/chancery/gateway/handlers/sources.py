"""Document sources: declaration, grants, revisions, and reading them back."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from chancery.events import commands, queries
from chancery.extract.media import DOCUMENT_TYPES
from chancery.gateway.domain.bodies import (
    CheckBody,
    CheckReply,
    PinnedSourceReply,
    RevisionReply,
    SourceBody,
)
from chancery.gateway.domain.media import TEXT_TYPES
from chancery.gateway.domain.passages import Finding, find_passage
from chancery.gateway.handlers.edge import Context, Here, PathId, Restore, RevisionNumber
from chancery.gateway.handlers.places import Places, places_of
from chancery.gateway.handlers.sending import SentText
from chancery.gateway.handlers.uploads import Target, receive_upload
from chancery.gateway.handlers.withdrawn import without_text

router = APIRouter(prefix="/v1/workspaces/{ws}/sources", tags=["sources"])

_BINARY = {"type": "string", "format": "binary"}
TEXT_BYTES_MAX = 64 * 1024 * 1024


@router.put("/{source}")
async def declare_source(
    ws: PathId, source: PathId, body: SourceBody, here: Here
) -> commands.Outcome:
    """Declare a document source, or declare it again: what is left out stays as it is."""
    command = commands.DeclareSource(
        workspace_id=ws,
        source_id=source,
        title=body.title,
        visibility=body.visibility,
        authority=body.authority,
        date=body.date,
    )
    return await here.command("ingestion", "declare-source", command, commands.Outcome)


@router.get("")
async def list_sources(ws: PathId, here: Here) -> queries.ResourceList:
    """Return the sources that the caller may read."""
    question = queries.OfWorkspace(workspace_id=ws)
    return await here.query("release", "sources", question, queries.ResourceList)


@router.get("/{source}")
async def read_source(ws: PathId, source: PathId, here: Here) -> queries.ResourceView:
    """Return what the caller may know of one source."""
    question = queries.OfResource(workspace_id=ws, kind="source", resource_id=source)
    return await here.query("release", "source", question, queries.ResourceView)


@router.post(
    "/{source}/revisions",
    status_code=202,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                **{each: {"schema": {"type": "string"}} for each in sorted(TEXT_TYPES)},
                **{each: {"schema": _BINARY} for each in sorted(DOCUMENT_TYPES - TEXT_TYPES)},
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["text"],
                        "properties": {
                            "media_type": {"type": "string", "default": "text/plain"},
                            "text": {"type": "string", "minLength": 1},
                        },
                    }
                },
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file"],
                        "properties": {"file": _BINARY},
                    }
                },
            },
        }
    },
)
async def publish_revision(
    ws: PathId, source: PathId, request: Request, here: Here, *, restore: Restore = False
) -> RevisionReply:
    """Publish the next revision; unchanged content returns the one that already serves.

    A withdrawn source is refused unless `restore` asks for it to serve again.
    """
    stored = await receive_upload(request, here, Target(ws, "source", source))
    command = commands.PublishRevision(
        workspace_id=ws,
        source_id=source,
        content_sha256=stored.sha256,
        media_type=stored.media_type,
        size_bytes=stored.size_bytes,
        restore=restore,
    )
    published = await stored.here.command(
        "ingestion", "publish-revision", command, commands.PublishedOutcome
    )
    return RevisionReply(
        revision=published.revision,
        sequence=published.sequence,
        content_sha256=published.content_sha256,
        event_id=published.event_id,
        state="pending",
        changed=published.changed,
    )


@router.get("/{source}/revisions/{number}")
async def read_revision(
    ws: PathId, source: PathId, number: RevisionNumber, here: Here
) -> PinnedSourceReply:
    """Return the pinned hashes of one revision."""
    return PinnedSourceReply.of(await _authorised(here, ws, source, number))


@router.get("/{source}/revisions/{number}/text", response_class=Response)
async def read_text(ws: PathId, source: PathId, number: RevisionNumber, here: Here) -> Response:
    """Return the canonical text of one revision."""
    pinned = await _authorised(here, ws, source, number)
    return SentText(here.edge, here.call.caller, lambda: _text_of(here, pinned))


@router.get("/{source}/revisions/{number}/status")
async def read_status(
    ws: PathId, source: PathId, number: RevisionNumber, here: Here
) -> dict[str, str | int | None]:
    """Return the index state of one revision."""
    pinned = await _authorised(here, ws, source, number)
    return {"revision": pinned.revision, "state": pinned.state, "reason": pinned.reason}


@router.post("/{source}/revisions/{number}/check")
async def check_passage(
    ws: PathId, source: PathId, number: RevisionNumber, body: CheckBody, here: Here
) -> CheckReply:
    """Say whether a passage stands in one revision, letter by letter."""
    pinned = await _authorised(here, ws, source, number)
    async with here.edge.texts.turn(here.call.caller):
        found, places = await _found(here, pinned, body)
    assert pinned.extraction_sha256 is not None, "its text was read"
    return CheckReply(
        verdict=found.verdict,
        occurrences=found.occurrences,
        start=found.start,
        end=found.end,
        page=places.page,
        rectangles=places.rectangles,
        cells=places.cells,
        extraction_sha256=pinned.extraction_sha256,
    )


async def _found(
    here: Context, pinned: queries.PinnedRevision, body: CheckBody
) -> tuple[Finding, Places]:
    text = await _text_of(here, pinned)
    found = await asyncio.to_thread(
        lambda: find_passage(text.decode(), body.text, body.start, body.end)
    )
    if found.start is None or found.end is None:
        return found, Places()
    return found, await places_of(here, pinned, found.start, found.end)


async def _authorised(
    here: Context, workspace_id: str, source_id: str, revision: int
) -> queries.PinnedRevision:
    question = queries.OfResource(
        workspace_id=workspace_id, kind="source", resource_id=source_id, revision=revision
    )
    return await here.query("release", "authorise", question, queries.PinnedRevision)


async def _text_of(here: Context, pinned: queries.PinnedRevision) -> bytes:
    if pinned.extraction_sha256 is None:
        message = "the revision has no text yet; ask for its status"
        raise without_text(pinned, message)
    return await here.edge.blobs.get(
        here.call.caller.tenant, pinned.extraction_sha256, limit=TEXT_BYTES_MAX
    )
