"""What the body of a request may be, by the path that it is sent to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

JSON_BYTES_MAX: Final = 1024 * 1024
DRAFT_BYTES_MAX: Final = 2 * 1024 * 1024
"""A draft whose text of 256 KiB has every byte of it escaped."""
_UPLOADS: Final = ("/revisions", "/snapshots", "/sources", "/v1/blobs", "/v1/files")
_DRAFT: Final = re.compile(r"/v1/workspaces/[^/]+/items/[^/]+/drafts(/[^/]+)?")
_CORPUS: Final = re.compile(r"/v1/workspaces/[^/]+/corpora/[^/]+")


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How many bytes a body may have, and whether it may be something else than JSON."""

    bytes_max: int
    any_type: bool


def limits_of(path: str, *, upload_bytes_max: int) -> BodyLimits:
    """Return what a body sent to `path` may be."""
    if path.endswith(_UPLOADS):
        return BodyLimits(upload_bytes_max, any_type=True)
    if _DRAFT.fullmatch(path):
        return BodyLimits(DRAFT_BYTES_MAX, any_type=False)
    return BodyLimits(JSON_BYTES_MAX, any_type=_CORPUS.fullmatch(path) is not None)
