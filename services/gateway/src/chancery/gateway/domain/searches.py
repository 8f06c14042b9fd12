"""A search as callers send it and as they get it back."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, Field

from chancery.events.queries import IndexState
from chancery.events.run import Selection
from chancery.events.search import HITS_MAX, SearchHit, SearchPin, SearchQuery, SearchRevision
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.parts import PART_CHARACTERS, part_id
from chancery.gateway.domain.bodies import Body
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Conflict, Corrupt


class SearchBody(Body):
    """What to look for, how many hits to return, and in which sources (none named: all)."""

    query: SearchQuery
    k: int = Field(default=10, ge=1, le=HITS_MAX)
    sources: Selection = ()


class SearchHitReply(BaseModel):
    """A passage: `excerpt` is exactly [start, end) of the revision's text, in code points.

    `part` is the id of the part that holds it, `page` where it begins in a document with pages;
    `sha256` is over the excerpt.
    """

    source_id: str
    revision: int
    title: str
    part: str
    start: int
    end: int
    page: int | None = None
    excerpt: str
    sha256: str


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


def searchable(revisions: Iterable[SearchRevision]) -> tuple[SearchPin, ...]:
    """Return the pins of the revisions that are ready to be searched.

    Their fields were checked when the revisions were read: up to a thousand, not checked again.
    """
    return tuple(
        SearchPin.model_construct(
            key=each.key,
            revision=each.revision,
            extraction_sha256=each.extraction_sha256,
            manifest_sha256=each.manifest_sha256,
        )
        for each in revisions
        if each.state == "ready"
        and each.extraction_sha256 is not None
        and each.manifest_sha256 is not None
    )


def hit_reply(
    revision: SearchRevision, extraction_sha256: str, hit: SearchHit, text: str
) -> SearchHitReply:
    """Return the hit with its exact excerpt of the pinned `text`.

    Raises:
        ForeignHit: when its offsets are not within one part of the text.
    """
    ordinal = hit.start // PART_CHARACTERS + 1
    end = min(len(text), ordinal * PART_CHARACTERS)
    if not hit.start < hit.end <= end:
        message = "the index and the stored text differ; try again"
        raise ForeignHit(message)
    excerpt = text[hit.start : hit.end]
    return SearchHitReply(
        source_id=revision.id,
        revision=revision.revision,
        title=revision.title,
        part=part_id(revision.key, revision.revision, extraction_sha256, ordinal),
        start=hit.start,
        end=hit.end,
        excerpt=excerpt,
        sha256=sha256_hex(excerpt.encode()),
    )
