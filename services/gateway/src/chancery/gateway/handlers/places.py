"""Where a passage stands in its document: the page and lines of a PDF, the cells of a workbook."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from itertools import islice

from chancery.events.queries import PinnedRevision
from chancery.evidence.layout import LAYOUT_BYTES_MAX, Layout, cells, rectangles
from chancery.evidence.manifest import Manifest
from chancery.gateway.domain.bodies import CellReply, RectangleReply
from chancery.gateway.handlers.edge import Context

PLACES_MAX = 200
MANIFEST_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Places:
    """What is known of a passage's place; a plain text has none of it."""

    page: int | None = None
    rectangles: list[RectangleReply] | None = None
    cells: list[CellReply] | None = None


async def places_of(here: Context, pinned: PinnedRevision, start: int, end: int) -> Places:
    """Return where [start, end) of an authorised revision stands in its document."""
    if pinned.manifest_sha256 is None:
        return Places()
    blobs, tenant = here.edge.blobs, here.call.caller.tenant
    data = await blobs.get(tenant, pinned.manifest_sha256, limit=MANIFEST_BYTES_MAX)
    manifest = Manifest.from_bytes(data)
    if manifest.layout_sha256 is None:
        return Places(manifest.page(start))
    layout = await blobs.get(tenant, manifest.layout_sha256, limit=LAYOUT_BYTES_MAX)
    return await asyncio.to_thread(_places, manifest, layout, start, end)


def _places(manifest: Manifest, data: bytes, start: int, end: int) -> Places:
    layout = Layout.from_bytes(data)
    lines = islice(rectangles(layout, start, end), PLACES_MAX)
    found = islice(cells(layout, start, end), PLACES_MAX)
    return Places(
        manifest.page(start),
        [RectangleReply(**asdict(line)) for line in lines] if layout.pages else None,
        [CellReply(**asdict(cell)) for cell in found] if layout.sheets else None,
    )
