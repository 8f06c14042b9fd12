"""Searching in two steps: release says what may be searched, then exactly that is searched.

What the index answers is checked against the scope and the stored texts before any of it is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter

from chancery.events.search import (
    Search,
    SearchHit,
    SearchResult,
    SearchRevision,
    SearchScope,
    SearchScopeOf,
)
from chancery.evidence.coverage import coverage
from chancery.gateway.domain.searches import (
    ForeignHit,
    Opened,
    SearchBody,
    SearchHitReply,
    SearchReply,
    hit_reply,
    is_opened_by_manifest,
    open_revision,
    searchable,
    without_texts,
)
from chancery.gateway.handlers.edge import Context, Here, PathId
from chancery.gateway.handlers.places import MANIFEST_BYTES_MAX
from chancery.kernel.errors import Corrupt, NotFound
from chancery.store.blobs import BlobTooLarge

router = APIRouter(prefix="/v1/workspaces/{ws}", tags=["find"])

TEXT_BYTES_MAX = 64 * 1024 * 1024
HIT_LAYOUT_BYTES_MAX = 16 * 1024 * 1024
"""Above this a hit tells its page only; checking the passage tells its lines or cells."""

TEXTS_AT_ONCE = 4
"""Texts of the hits of one search that are in memory at the same time."""


@router.post("/search")
async def search(ws: PathId, body: SearchBody, here: Here) -> SearchReply:
    """Return the best passages of what the caller may read, or of what is selected of it."""
    wanted = SearchScopeOf(
        workspace_id=ws,
        sources=_once(body.sources),
        items=_once(body.items),
        files=_once(body.files),
    )
    scope = await here.query("release", "search-scope", wanted, SearchScope)
    found = await _search(here, body, scope)
    revisions = {each.key: each for each in scope.revisions}
    shown = await _hits(here, revisions, found.hits)
    report = coverage(
        without_texts(scope.revisions, shown.lost),
        index_position=found.index_position,
        unconfirmed=found.unconfirmed,
    )
    return SearchReply(hits=shown.hits, coverage=report, checkpoint=scope.checkpoint)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The hits that can be shown, and the keys of the revisions whose text is lost."""

    hits: list[SearchHitReply]
    lost: frozenset[str] = field(default_factory=frozenset[str])


def _once(selected: Sequence[str]) -> tuple[str, ...]:
    """Return what is selected without repetitions, each of which the coverage would count."""
    return tuple(dict.fromkeys(selected))


async def _search(here: Context, body: SearchBody, scope: SearchScope) -> SearchResult:
    pins = searchable(scope.revisions)
    if not pins:
        return SearchResult(hits=(), index_position=0, unconfirmed=())
    wanted = Search(
        query=body.query,
        limit=body.k,
        index_sequence=max(each.index_sequence for each in scope.revisions),
        pins=pins,
    )
    return await here.query("retrieval", "search", wanted, SearchResult)


async def _hits(
    here: Context, revisions: Mapping[str, SearchRevision], hits: Sequence[SearchHit]
) -> _Shown:
    """Return the hits in their order, each text read once; without those whose text is lost."""
    places: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        places.setdefault(hit.key, []).append(place)
    turns = asyncio.Semaphore(TEXTS_AT_ONCE)

    async def replies(key: str) -> list[SearchHitReply] | None:
        async with turns, here.edge.texts.turn(here.call.caller):
            return await _of_revision(here, revisions.get(key), [hits[n] for n in places[key]])

    found: dict[int, SearchHitReply] = {}
    lost: set[str] = set()
    for key, told in zip(places, await asyncio.gather(*map(replies, places)), strict=True):
        if told is None:
            lost.add(key)
        else:
            found |= zip(places[key], told, strict=True)
    return _Shown([found[place] for place in sorted(found)], frozenset(lost))


async def _of_revision(
    here: Context, revision: SearchRevision | None, hits: Sequence[SearchHit]
) -> list[SearchHitReply] | None:
    """Return the hits in a revision, None when its text or what describes it is lost."""
    if revision is None or revision.extraction_sha256 is None or revision.manifest_sha256 is None:
        message = "the index answered with something that was not searched; try again"
        raise ForeignHit(message)
    text = await _stored(here, revision.extraction_sha256, TEXT_BYTES_MAX)
    if text is None:
        return None
    if not is_opened_by_manifest(revision):
        return await asyncio.to_thread(lambda: _cut(open_revision(revision, text, None), hits))
    manifest = await _stored(here, revision.manifest_sha256)
    if manifest is None:
        return None
    opened = await asyncio.to_thread(open_revision, revision, text, manifest)
    layout = await _layout(here, opened)
    return await asyncio.to_thread(lambda: _cut(_laid_out(opened, layout), hits))


def _laid_out(opened: Opened, layout: bytes | None) -> Opened:
    """Return the text with its places; one whose layout is damaged is quoted without them."""
    if layout is None:
        return opened
    try:
        return opened.with_layout(layout)
    except Corrupt:
        return opened


def _cut(opened: Opened, hits: Sequence[SearchHit]) -> list[SearchHitReply]:
    return [hit_reply(opened, each) for each in hits]


async def _layout(here: Context, opened: Opened) -> bytes | None:
    """Return where the pieces of the text stand, None when that is lost or takes too long."""
    if opened.layout_sha256 is None:
        return None
    tenant = here.call.caller.tenant
    try:
        return await here.edge.blobs.get(tenant, opened.layout_sha256, limit=HIT_LAYOUT_BYTES_MAX)
    except (BlobTooLarge, NotFound, Corrupt):
        return None


async def _stored(here: Context, sha256: str, limit: int = MANIFEST_BYTES_MAX) -> bytes | None:
    """Return stored bytes, None when they are lost or damaged."""
    try:
        return await here.edge.blobs.get(here.call.caller.tenant, sha256, limit=limit)
    except (NotFound, Corrupt):
        return None
