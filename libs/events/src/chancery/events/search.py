"""Searching: what release admits, what retrieval is asked, and where it found something.

No text but the question is in these messages, no title goes to retrieval, and no score comes back.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from chancery.events.envelope import Id, Many, Sha256
from chancery.events.index import REASON_PATTERN
from chancery.events.queries import IndexState
from chancery.events.requests import Message
from chancery.events.run import Selection

QUERY_SCALARS_MAX: Final = 4000
HITS_MAX: Final = 50
"""Hits that one search returns at most."""

REVISIONS_MAX: Final = 1000
"""Revisions that one search may cover."""

SearchKind: TypeAlias = Literal["source", "item", "file"]
"""What has passages to be found: a source, a curated item, or a private file of the caller."""


def _trimmed(query: str) -> str:
    trimmed = query.strip()
    if not trimmed:
        message = "must hold at least one character that is not white space"
        raise ValueError(message)
    if len(trimmed) > QUERY_SCALARS_MAX:
        message = f"must be at most {QUERY_SCALARS_MAX} characters"
        raise ValueError(message)
    return trimmed


SearchQuery = Annotated[str, AfterValidator(_trimmed)]
"""Words to look for, trimmed, of 1 to 4,000 code points."""


class SearchScopeOf(Message):
    """Ask what a search of the caller may cover: what is selected, and nothing else.

    Nothing selected: every source and item of the workspace. A private file only when selected.
    """

    workspace_id: Id
    sources: Selection = ()
    items: Selection = ()
    files: Selection = ()


class SearchRevision(Message):
    """One eligible revision with its pinned hashes; null extraction means not ready.

    Of an item `revision` is the number of its version, and `version_id` names it. `reason` is why
    it failed or is unavailable.
    """

    kind: SearchKind = "source"
    key: Id
    id: Id
    title: str
    revision: int = Field(ge=1)
    media_type: str
    state: IndexState
    index_sequence: int = Field(default=0, ge=0)
    extraction_sha256: Sha256 | None = None
    manifest_sha256: Sha256 | None = None
    version_id: Id | None = None
    reason: str | None = Field(default=None, pattern=REASON_PATTERN)


class SearchScope(Message):
    """Every revision that serves and that the caller may read, as of `checkpoint` of the log."""

    checkpoint: int = Field(ge=0)
    revisions: Many[SearchRevision] = Field(max_length=REVISIONS_MAX)


class SearchPin(Message):
    """A revision, version or file in the form that a manifest describes."""

    kind: SearchKind = "source"
    key: Id
    revision: int = Field(ge=1)
    extraction_sha256: Sha256
    manifest_sha256: Sha256


class Search(Message):
    """Search the passages of `pins`, and nothing else.

    `index_sequence` is the position of the index that the pins need.
    """

    query: SearchQuery
    limit: int = Field(ge=1, le=HITS_MAX)
    index_sequence: int = Field(ge=0)
    pins: Many[SearchPin] = Field(max_length=REVISIONS_MAX)


class SearchHit(Message):
    """A passage: [start, end) are code points of the pinned text of `key`."""

    key: Id
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class SearchResult(Message):
    """The passages found, best first; `unconfirmed` are the keys that the index does not hold."""

    hits: Many[SearchHit] = Field(max_length=HITS_MAX)
    index_position: int = Field(ge=0)
    unconfirmed: Many[Id] = Field(max_length=REVISIONS_MAX)
