"""Having a source indexed again: release authorises, indexing does it, the index confirms it."""

from __future__ import annotations

from fastapi import APIRouter

from chancery.events import queries
from chancery.events.index_requests import (
    ConfirmRevision,
    ReconcileSource,
    RefreshRevision,
    RevisionConfirmed,
    WorkAccepted,
)
from chancery.events.search import SearchPin
from chancery.gateway.domain.searches import IndexedReply, NotEligible, RefreshBody
from chancery.gateway.handlers.edge import Context, Here, PathId

router = APIRouter(prefix="/v1/workspaces/{ws}/sources/{source}", tags=["sources"])


@router.post("/refresh", status_code=202)
async def refresh_source(ws: PathId, source: PathId, body: RefreshBody, here: Here) -> IndexedReply:
    """Index the serving revision again, at most once a minute; ready only once it is confirmed."""
    pinned = await _authorised(here, ws, source, body.revision)
    if pinned.state == "excluded":
        message = "the revision does not serve or has no text; name the one that serves"
        raise NotEligible(message, field="revision")
    command = RefreshRevision(key=pinned.key, revision=body.revision)
    await here.command("indexing", "refresh", command, WorkAccepted)
    state = "ready" if await _is_confirmed(here, pinned) else "pending"
    return IndexedReply(revision=pinned.revision, state=state)


@router.post("/reconcile", status_code=202)
async def reconcile_source(ws: PathId, source: PathId, here: Here) -> IndexedReply:
    """Compare the index state of a source with its log, and finish what is missing."""
    pinned = await _authorised(here, ws, source, None)
    await here.command("indexing", "reconcile", ReconcileSource(key=pinned.key), WorkAccepted)
    if pinned.state == "ready" and not await _is_confirmed(here, pinned):
        return IndexedReply(revision=pinned.revision, state="pending")
    return IndexedReply(revision=pinned.revision, state=pinned.state, reason=pinned.reason)


async def _authorised(
    here: Context, workspace_id: str, source_id: str, revision: int | None
) -> queries.PinnedRevision:
    question = queries.OfResource(
        workspace_id=workspace_id, kind="source", resource_id=source_id, revision=revision
    )
    return await here.query("release", "authorise", question, queries.PinnedRevision)


async def _is_confirmed(here: Context, pinned: queries.PinnedRevision) -> bool:
    """Tell whether the search index holds what release knows as ready."""
    if pinned.extraction_sha256 is None or pinned.manifest_sha256 is None:
        return False
    pin = SearchPin(
        key=pinned.key,
        revision=pinned.revision,
        extraction_sha256=pinned.extraction_sha256,
        manifest_sha256=pinned.manifest_sha256,
    )
    asked = ConfirmRevision(pin=pin)
    return (await here.query("retrieval", "confirm", asked, RevisionConfirmed)).is_indexed
