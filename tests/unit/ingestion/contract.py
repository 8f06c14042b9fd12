"""What every `Log` has to do, in memory and on JetStream."""

from __future__ import annotations

import pytest

from chancery.bus.publish import DuplicateMessages, Outgoing, WrongSequence
from chancery.events.topology import authority_subject
from chancery.ingestion.ports import Log

ONE = authority_subject("t", "source", "one")
TWO = authority_subject("t", "source", "two")


def message(subject: str, name: str, expect_last: int | None) -> Outgoing:
    """Return a message with `name` as its id and payload."""
    return Outgoing(
        subject=subject, payload=name.encode(), message_id=name, expect_last=expect_last
    )


async def check_log(log: Log) -> None:
    """Check an empty log against the port."""
    assert await log.position() == 0

    batch = (message(ONE, "a", 0), message(ONE, "b", None), message(TWO, "c", 0))
    assert [place.sequence for place in await log.append(batch)] == [1, 2, 3]
    with pytest.raises(WrongSequence):
        await log.append((message(ONE, "d", 0),))
    with pytest.raises(WrongSequence):
        await log.append((message(TWO, "e", 3), message(ONE, "f", 0)))
    with pytest.raises(DuplicateMessages):
        await log.append((message(TWO, "g", 3), message(authority_subject("t", "p", "x"), "a", 0)))
    again = await log.append((message(TWO, "a", 3),))
    assert [(place.sequence, place.duplicate) for place in again] == [(1, True)]
    await log.append((message(ONE, "h", 2),))

    assert await log.position() == 4
    assert [stored.payload async for stored in log.read(ONE, 0)] == [b"a", b"b", b"h"]
    assert [stored.sequence async for stored in log.read(ONE, 2)] == [4]
    assert [stored.sequence async for stored in log.read(TWO, 0)] == [3]
