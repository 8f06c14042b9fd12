"""What the body of a request may be, by the method and path that it is sent with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chancery.evidence.knowledge import ITEM_BYTES_MAX

JSON_BYTES_MAX: Final = 1024 * 1024
UNREAD_BYTES_MAX: Final = 1024
"""Of a request whose body nothing reads."""
DRAFT_BYTES_MAX: Final = 2 * 1024 * 1024
"""A draft whose text of 256 KiB has every byte of it escaped."""
_TEXT_OF_A_DRAFT: Final = (
    f"; the text of an item takes at most {ITEM_BYTES_MAX:,} bytes (256 KiB) of UTF-8:"
    " split it into several items"
)
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
_STREAMED: Final = re.compile(
    r"/v1/(blobs|files|workspaces/[^/]+/(sources/[^/]+/revisions|datasets/[^/]+/snapshots))"
)
_BULK: Final = re.compile(r"/v1/workspaces/[^/]+/sources")
_DRAFT: Final = re.compile(r"/v1/workspaces/[^/]+/items/[^/]+/drafts(/[^/]+)?")
_CORPUS: Final = re.compile(r"/v1/workspaces/[^/]+/corpora/[^/]+")


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How many bytes a body may have, and whether it may be something else than JSON.

    The body of a streamed request is read by its route, once that knows that the caller may send
    it.
    """

    bytes_max: int
    any_type: bool
    is_streamed: bool = False
    advice: str = ""
    """What of the body has a narrower bound."""


def limits_of(method: str, path: str, *, upload_bytes_max: int) -> BodyLimits:
    """Return what a body sent to `path` may be."""
    if method in _BODILESS:
        return BodyLimits(UNREAD_BYTES_MAX, any_type=False)
    if method == "POST" and _STREAMED.fullmatch(path):
        return BodyLimits(upload_bytes_max, any_type=True, is_streamed=True)
    if method == "POST" and _BULK.fullmatch(path):
        return BodyLimits(upload_bytes_max, any_type=False)
    if _DRAFT.fullmatch(path):
        return BodyLimits(DRAFT_BYTES_MAX, any_type=False, advice=_TEXT_OF_A_DRAFT)
    return BodyLimits(JSON_BYTES_MAX, any_type=_CORPUS.fullmatch(path) is not None)
