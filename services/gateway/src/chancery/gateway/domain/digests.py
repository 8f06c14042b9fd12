"""The hash by which two requests under one idempotency key are compared."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from chancery.gateway.domain.media import essence

_BOUNDARY: Final = re.compile(r'boundary="?([^";]+)', re.IGNORECASE)


class BodyDigest:
    """Hashes the body of a request while it arrives, with its media type and query.

    A client draws a new boundary each time it sends a multipart body, so that one does not count.
    """

    def __init__(self, content_type: str, query: bytes) -> None:
        """Begin with what stands before the body."""
        media_type = essence(content_type)
        found = _BOUNDARY.search(content_type) if media_type == "multipart/form-data" else None
        self._boundary = b"" if found is None else found[1].encode("latin-1")
        self._held = b""
        asked = b"?" + query if query else b""
        self._hash = hashlib.sha256(media_type.encode() + asked + b"\n")

    def add(self, piece: bytes) -> None:
        """Add the next piece of the body."""
        if not self._boundary:
            self._hash.update(piece)
            return
        *passed, last = (self._held + piece).split(self._boundary)
        for each in passed:
            self._hash.update(each)
        # The beginning of a boundary may stand at the end of a piece.
        certain = max(0, len(last) - len(self._boundary) + 1)
        self._hash.update(last[:certain])
        self._held = last[certain:]

    def sha256(self) -> str:
        """Return the hash of everything that was added."""
        whole = self._hash.copy()
        whole.update(self._held)
        return whole.hexdigest()
