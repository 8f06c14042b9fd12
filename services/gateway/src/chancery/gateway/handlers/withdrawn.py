"""What has no text for its caller: it is withdrawn, or not read yet."""

from __future__ import annotations

from chancery.events.queries import PinnedRevision
from chancery.kernel.errors import NotFound

WITHDRAWN = "withdrawn"


def without_text(pinned: PinnedRevision, message: str) -> NotFound:
    """Return the refusal of an authorised revision that has no text; `message` is for a new one.

    Whoever is authorised is told of the withdrawal by its status too.
    """
    if pinned.reason != WITHDRAWN:
        return NotFound(message, code="not_extracted")
    withdrawn = "it is withdrawn, and nothing of it is shown until it serves again"
    return NotFound(withdrawn, code=WITHDRAWN)
