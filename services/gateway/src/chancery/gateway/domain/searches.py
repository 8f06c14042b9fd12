"""A search as callers send it and as they get it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Final, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter

from chancery.events.queries import IndexState
from chancery.events.run import Selection
from chancery.events.search import HITS_MAX, SearchHit, SearchPin, SearchQuery, SearchRevision
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.knowledge import KnowledgeManifest, check_body
from chancery.evidence.layout import Layout, cells, rectangles
from chancery.evidence.manifest import Manifest
from chancery.evidence.parts import PART_CHARACTERS, part_id
from chancery.extract.media import PDF, XLSX
from chancery.gateway.domain.bodies import Body, RectangleReply
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Conflict, Corrupt

_PINS: Final = TypeAdapter(tuple[SearchPin, ...])

TEXT_LOST: Final = "extraction_missing"
"""Why a revision is unavailable that is in the index and whose text is not in the store."""

HIT_PLACES_MAX: Final = 100
"""How many lines or cells are told of one passage."""

CELL_CHARACTERS_MAX: Final = 100
"""How long a value may be that is told beside its cell."""


class SearchBody(Body):
    """What to look for, how many hits to return, and in what: all that is selected, only that.

    Nothing selected: every source and item of the workspace that the caller may read.
    """

    query: SearchQuery
    k: int = Field(default=10, ge=1, le=HITS_MAX)
    sources: Selection = ()
    items: Selection = ()
    files: Selection = ()


class _Passage(BaseModel):
    title: str
    part: str
    start: int
    end: int
    excerpt: str
    sha256: str


class HitCellReply(BaseModel):
    """A cell that a passage touches; a long value stands in the excerpt only."""

    sheet: str
    cell: str
    type: str
    value: str | None = None


class _PlacedPassage(_Passage):
    """A passage of a document, and where it stands on its pages or in its sheets.

    Of each passage the first 100 lines or cells are told, none where the document has too many.
    """

    revision: int
    page: int | None = None
    rectangles: list[RectangleReply] | None = None
    cells: list[HitCellReply] | None = None


class SourceHitReply(_PlacedPassage):
    """A passage of a source: `excerpt` is exactly [start, end) of the revision's text.

    Offsets are code points. `part` is the id of the part that holds it, `page` where it begins in a
    document with pages, `rectangles` the lines that it touches there, `cells` those of a workbook;
    `sha256` is over the excerpt.
    """

    source_id: str


class ItemHitReply(_Passage):
    """A passage of an item's version: `excerpt` is exactly [start, end) of its body."""

    item_id: str
    version: int
    version_id: str


class FileHitReply(_PlacedPassage):
    """A passage of a private file of the caller, as of a source."""

    file_id: str


SearchHitReply: TypeAlias = SourceHitReply | ItemHitReply | FileHitReply
"""A passage with the names of what it stands in."""


class SearchReply(BaseModel):
    """The passages, best first, and how much of what the caller may read was searched.

    `checkpoint` is the position of the log that access was decided at.
    """

    hits: list[SearchHitReply]
    coverage: CoverageReport
    checkpoint: int


class RefreshBody(Body):
    """The exact revision to index again: the one that serves."""

    revision: int = Field(ge=1, le=2**31 - 1)


class IndexedReply(BaseModel):
    """A revision and its index state; ready means that the search index has confirmed it."""

    revision: int
    state: IndexState
    reason: str | None = None


class NotEligible(Conflict):
    """The revision does not serve, or has no text, so that there is nothing to index."""

    code = "not_eligible"


class ForeignHit(Corrupt):
    """The index names a place that is not in what was searched; nothing of it is shown."""

    code = "foreign_hit"


@dataclass(frozen=True, slots=True)
class Opened:
    """A revision that was searched, with its pinned text and, where it was read, its manifest."""

    revision: SearchRevision
    text: str
    manifest: Manifest | None = None
    layout: Layout | None = None

    @property
    def layout_sha256(self) -> str | None:
        """Return which blob tells where the pieces of the text stand, if one does."""
        if self.manifest is None or self.revision.kind == "item":
            return None
        return self.manifest.layout_sha256

    def with_layout(self, data: bytes) -> Opened:
        """Return it with its layout.

        Raises:
            Corrupt: the bytes are none.
        """
        return replace(self, layout=Layout.from_bytes(data))


def searchable(revisions: Iterable[SearchRevision]) -> tuple[SearchPin, ...]:
    """Return the pins of the revisions that are ready to be searched."""
    ready = [
        each
        for each in revisions
        if each.state == "ready"
        and each.extraction_sha256 is not None
        and each.manifest_sha256 is not None
    ]
    # A call of its own for each of a thousand would take twice as long.
    return _PINS.validate_python(ready, from_attributes=True)


def without_texts(
    revisions: Iterable[SearchRevision], lost: Collection[str]
) -> tuple[SearchRevision, ...]:
    """Return the revisions, those whose text was found lost as unavailable until it is back."""
    gone = {"state": "unavailable", "reason": TEXT_LOST}
    return tuple(each.model_copy(update=gone) if each.key in lost else each for each in revisions)


def is_opened_by_manifest(revision: SearchRevision) -> bool:
    """Tell whether a hit needs the manifest: a version is checked by it, a place is told by it."""
    return revision.kind == "item" or revision.media_type in {PDF, XLSX}


def open_revision(revision: SearchRevision, text: bytes, manifest: bytes | None) -> Opened:
    """Return the revision with its stored bytes; what its manifest does not describe is refused.

    Raises:
        Corrupt: the stored manifest is malformed, of something else, or of another text.
    """
    opened = text.decode()
    if manifest is None:
        return Opened(revision, opened)
    if revision.kind == "item":
        return Opened(revision, opened, _checked_body(revision, opened, manifest))
    found = Manifest.from_bytes(manifest)
    _require_described(revision, found)
    return Opened(revision, opened, found)


def hit_reply(opened: Opened, hit: SearchHit) -> SearchHitReply:
    """Return the hit with its exact excerpt of the pinned text.

    Raises:
        ForeignHit: when its offsets are not within one part of the text.
    """
    revision, text = opened.revision, opened.text
    ordinal = hit.start // PART_CHARACTERS + 1
    end = min(len(text), ordinal * PART_CHARACTERS)
    if not hit.start < hit.end <= end or revision.extraction_sha256 is None:
        message = "the index and the stored text differ; try again"
        raise ForeignHit(message)
    excerpt = text[hit.start : hit.end]
    passage = _Passage(
        title=revision.title,
        part=part_id(revision.key, revision.revision, revision.extraction_sha256, ordinal),
        start=hit.start,
        end=hit.end,
        excerpt=excerpt,
        sha256=sha256_hex(excerpt.encode()),
    )
    return _named(opened, passage)


def _named(opened: Opened, passage: _Passage) -> SearchHitReply:
    revision, said = opened.revision, passage.model_dump()
    if revision.kind == "item":
        if revision.version_id is None:
            message = "an item was searched without its version; try again"
            raise ForeignHit(message)
        return ItemHitReply(
            **said,
            item_id=revision.id,
            version=revision.revision,
            version_id=revision.version_id,
        )
    page = None if opened.manifest is None else opened.manifest.page(passage.start)
    placed = _PlacedPassage(
        **said,
        revision=revision.revision,
        page=page,
        rectangles=_rectangles(opened.layout, passage),
        cells=_cells(opened.layout, passage),
    ).model_dump()
    if revision.kind == "file":
        return FileHitReply(**placed, file_id=revision.id)
    return SourceHitReply(**placed, source_id=revision.id)


def _rectangles(layout: Layout | None, passage: _Passage) -> list[RectangleReply] | None:
    if layout is None or not layout.pages:
        return None
    found = islice(rectangles(layout, passage.start, passage.end), HIT_PLACES_MAX)
    return [RectangleReply(**asdict(each)) for each in found]


def _cells(layout: Layout | None, passage: _Passage) -> list[HitCellReply] | None:
    if layout is None or not layout.sheets:
        return None
    found = islice(cells(layout, passage.start, passage.end), HIT_PLACES_MAX)
    return [
        HitCellReply(
            sheet=each.sheet,
            cell=each.cell,
            type=each.type,
            value=each.value if len(each.value) <= CELL_CHARACTERS_MAX else None,
        )
        for each in found
    ]


def _checked_body(revision: SearchRevision, body: str, data: bytes) -> Manifest:
    view = KnowledgeManifest.from_bytes(data)
    check_body(view, body)
    manifest = view.as_text()
    _require_described(revision, manifest)
    if view.pin.version_id != revision.version_id:
        raise _other_manifest()
    return manifest


def _require_described(revision: SearchRevision, manifest: Manifest) -> None:
    found = (manifest.key, manifest.revision, manifest.extraction_sha256)
    if found != (revision.key, revision.revision, revision.extraction_sha256):
        raise _other_manifest()


def _other_manifest() -> ForeignHit:
    message = "the stored manifest is not of what was searched; try again"
    return ForeignHit(message)
