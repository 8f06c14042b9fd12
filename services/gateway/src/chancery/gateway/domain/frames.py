"""Server-sent events as bytes.

Source: HTML Living Standard, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import re

from chancery.events.queries import EventRow
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import Rejected

HEARTBEAT = b": still here\n\n"
"""A comment that keeps proxies from closing an idle connection."""

BROKEN_OFF = "The stream ended early; read the run again."
"""What a caller is told of any error of a stream that was open."""

_EVENT_ID = re.compile(r"^(?P<run>[A-Za-z0-9_-]{1,64})\.(?P<number>[0-9]{1,9})$")


def frame(run_id: str, row: EventRow) -> bytes:
    """Return `row` as one event; its data is sent as it was sealed, a line a data field."""
    lines = "".join(f"data: {line}\n" for line in row.data.split("\n"))
    return f"id: {run_id}.{row.number}\nevent: {row.event}\n{lines}\n".encode()


def error_frame(run_id: str, code: str) -> bytes:
    """Return the event that ends a stream early: a fixed sentence, a code, and no id to resume at.

    Whatever was wrong, its own words never reach the caller.
    """
    data = canonical_bytes({"run_id": run_id, "code": code, "message": BROKEN_OFF})
    return b"event: error\ndata: " + data + b"\n\n"


def resume_after(last_event_id: str | None, run_id: str) -> int:
    """Return the event number behind which to go on; an id of another run starts over.

    Raises:
        Rejected: for an id that is none of ours, with code `invalid_last_event_id`.
    """
    if not last_event_id:
        return 0
    match = _EVENT_ID.match(last_event_id)
    if match is None:
        message = "Last-Event-ID must be an id of this stream, <run>.<number>"
        raise Rejected(message, field="Last-Event-ID", code="invalid_last_event_id")
    return int(match["number"]) if match["run"] == run_id else 0
