"""Messages for the tests of the bus; the bus itself does not look inside them."""

from __future__ import annotations

from chancery.bus.publish import Outgoing
from chancery.kernel.ids import random_id


def outgoing(
    subject: str,
    payload: bytes = b"{}",
    *,
    message_id: str | None = None,
    expect_last: int | None = None,
    ttl_s: int | None = None,
) -> Outgoing:
    """Return a message with a fresh id."""
    return Outgoing(
        subject=subject,
        payload=payload,
        message_id=message_id or random_id(),
        expect_last=expect_last,
        ttl_s=ttl_s,
    )
