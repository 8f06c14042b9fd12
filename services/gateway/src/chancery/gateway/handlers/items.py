"""Curated items: drafts, their explicit publication, versions and complete views."""

from __future__ import annotations

from fastapi import APIRouter, Response

from chancery.events import commands, queries
from chancery.evidence.knowledge import KnowledgeManifest, body_size, check_body
from chancery.gateway.domain.knowledge import DraftBody, PublishBody, VersionReply
from chancery.gateway.handlers.edge import Context, Here, PathId, Restore, RevisionNumber
from chancery.gateway.handlers.uploads import Upload, store_upload
from chancery.gateway.handlers.withdrawn import without_text
from chancery.kernel.errors import NotFound

router = APIRouter(prefix="/v1/workspaces/{ws}/items", tags=["items"])

MARKDOWN = "text/markdown"
BODY_BYTES_MAX = 256 * 1024
MANIFEST_BYTES_MAX = 1024 * 1024


@router.post("/{item}/drafts", status_code=201)
async def save_draft(
    ws: PathId, item: PathId, body: DraftBody, here: Here
) -> commands.DraftSavedOutcome:
    """Save a draft, which nobody is answered from; the first one makes the item."""
    return await _save(here, ws, item, here.call.created_id("draft"), body)


@router.put("/{item}/drafts/{draft}")
async def replace_draft(
    ws: PathId, item: PathId, draft: PathId, body: DraftBody, here: Here
) -> commands.DraftSavedOutcome:
    """Save the draft again with other content."""
    return await _save(here, ws, item, draft, body)


@router.post("/{item}/drafts/{draft}/publish", status_code=202)
async def publish_draft(
    ws: PathId,
    item: PathId,
    draft: PathId,
    body: PublishBody,
    here: Here,
    *,
    restore: Restore = False,
) -> commands.VersionPublishedOutcome:
    """Publish exactly this content on exactly this evidence; a draft that moved is refused.

    A withdrawn item is refused unless `restore` asks for it to serve again.
    """
    command = commands.PublishDraft(
        workspace_id=ws,
        item_id=item,
        draft_id=draft,
        content_sha256=body.content_sha256,
        evidence=body.evidence,
        restore=restore,
    )
    return await here.command(
        "ingestion", "publish-draft", command, commands.VersionPublishedOutcome
    )


@router.get("")
async def list_items(ws: PathId, here: Here) -> queries.ItemList:
    """Return the items that the caller may read."""
    question = queries.OfWorkspace(workspace_id=ws)
    return await here.query("release", "items", question, queries.ItemList)


@router.get("/{item}")
async def read_item(ws: PathId, item: PathId, here: Here) -> queries.ItemView:
    """Return an item with its versions, and for a curator its drafts."""
    return await _item(here, ws, item)


@router.get("/{item}/versions/{number}")
async def read_version(
    ws: PathId, item: PathId, number: RevisionNumber, here: Here
) -> VersionReply:
    """Return one immutable version with its hashes and the evidence that it rests on."""
    pinned = await _authorised(here, ws, item, number)
    found = await _item(here, ws, item)
    version = next((each for each in found.versions if each.version == number), None)
    if version is None:
        message = "there is no such version"
        raise NotFound(message, code="version_not_found")
    return VersionReply.of(version, pinned)


@router.get("/{item}/versions/{number}/manifest")
async def read_manifest(
    ws: PathId, item: PathId, number: RevisionNumber, here: Here
) -> KnowledgeManifest:
    """Return the manifest of a version's complete view: its identities, its hashes, every part."""
    manifest, _ = await _view(here, await _authorised(here, ws, item, number))
    return manifest


@router.get("/{item}/versions/{number}/text", response_class=Response)
async def read_text(ws: PathId, item: PathId, number: RevisionNumber, here: Here) -> Response:
    """Return the whole body of a version."""
    _, body = await _view(here, await _authorised(here, ws, item, number))
    return Response(body.encode(), media_type="text/plain; charset=utf-8")


@router.get("/{item}/versions/{number}/parts/{part}", response_class=Response)
async def read_part(
    ws: PathId, item: PathId, number: RevisionNumber, part: PathId, here: Here
) -> Response:
    """Return one part of a version's body, checked against its manifest."""
    manifest, body = await _view(here, await _authorised(here, ws, item, number))
    found = manifest.as_text().part(part)
    if found is None:
        message = "there is no such part"
        raise NotFound(message, code="part_not_found")
    return Response(found.slice(body).encode(), media_type="text/plain; charset=utf-8")


async def _save(
    here: Context, workspace_id: str, item_id: str, draft_id: str, body: DraftBody
) -> commands.DraftSavedOutcome:
    upload = Upload(MARKDOWN, body.text.encode())
    size_bytes = body_size(upload.data)
    sha256 = await store_upload(here, workspace_id, "item", item_id, upload)
    command = commands.SaveDraft(
        workspace_id=workspace_id,
        item_id=item_id,
        draft_id=draft_id,
        content_sha256=sha256,
        size_bytes=size_bytes,
        **body.model_dump(exclude={"text", "evidence"}),
        evidence=body.evidence,
    )
    return await here.command("ingestion", "save-draft", command, commands.DraftSavedOutcome)


async def _item(here: Context, workspace_id: str, item_id: str) -> queries.ItemView:
    question = queries.OfResource(workspace_id=workspace_id, kind="item", resource_id=item_id)
    return await here.query("release", "item", question, queries.ItemView)


async def _authorised(
    here: Context, workspace_id: str, item_id: str, version: int
) -> queries.PinnedRevision:
    question = queries.OfResource(
        workspace_id=workspace_id, kind="item", resource_id=item_id, revision=version
    )
    return await here.query("release", "authorise", question, queries.PinnedRevision)


async def _view(here: Context, pinned: queries.PinnedRevision) -> tuple[KnowledgeManifest, str]:
    """Return the complete view of an authorised version; every byte of it is checked.

    Raises:
        NotFound: with code `not_extracted` while the version has no view, `withdrawn` when the item
            is.
        AlteredText: the stored body is not the one that the manifest describes.
    """
    if pinned.extraction_sha256 is None or pinned.manifest_sha256 is None:
        message = "the version has no view yet; ask for its status"
        raise without_text(pinned, message)
    blobs, tenant = here.edge.blobs, here.call.caller.tenant
    data = await blobs.get(tenant, pinned.manifest_sha256, limit=MANIFEST_BYTES_MAX)
    text = await blobs.get(tenant, pinned.extraction_sha256, limit=BODY_BYTES_MAX)
    manifest, body = KnowledgeManifest.from_bytes(data), text.decode()
    check_body(manifest, body)
    return manifest, body
