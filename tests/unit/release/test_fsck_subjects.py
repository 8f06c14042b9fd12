"""An examination reads each message of a subject once, and keeps no more than it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from chancery.bus.load import Stored, StreamState
from chancery.release.handlers.fsck_subjects import MESSAGE_BYTES, ReadOnce

pytestmark = [pytest.mark.req("XB-2")]

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def message(subject: str, sequence: int, size_bytes: int = 10) -> Stored:
    return Stored(sequence, subject, b"x" * size_bytes, MOMENT, None)


@dataclass(slots=True)
class Log:
    """A stream in memory that counts what is read of it."""

    messages: list[Stored]
    reads: Counter[int] = field(default_factory=Counter[int])

    async def state(self, stream: str) -> StreamState:
        raise AssertionError(stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        raise AssertionError(stream, sequence)

    async def subject(self, stream: str, subject: str, after: int = 0) -> AsyncGenerator[Stored]:
        assert stream == "AUTHORITY"
        for each in self.messages:
            if each.subject == subject and each.sequence > after:
                self.reads[each.sequence] += 1
                yield each


async def read(once: ReadOnce, subject: str, last: int = 99) -> list[int]:
    """Return the sequences up to `last`, after which nobody reads on."""
    found: list[int] = []
    async for each in once.subject("AUTHORITY", subject):
        if each.sequence > last:
            break
        found.append(each.sequence)
    return found


async def test_each_message_is_read_once_in_whatever_order_places_are_asked_for() -> None:
    log = Log([message("a" if number % 2 else "b", number) for number in range(1, 11)])
    once = ReadOnce(log)

    assert await read(once, "a", 5) == [1, 3, 5]
    assert await read(once, "b") == [2, 4, 6, 8, 10]
    assert await read(once, "a", 3) == [1, 3]
    assert await read(once, "a") == [1, 3, 5, 7, 9]
    assert await read(once, "b", 2) == [2]

    assert set(log.reads.values()) == {1}
    assert len(log.reads) == 10


async def test_what_is_stored_in_the_meantime_is_read_too() -> None:
    log = Log([message("a", 1)])
    once = ReadOnce(log)
    before = await read(once, "a")

    log.messages.append(message("a", 7))

    assert (before, await read(once, "a")) == ([1], [1, 7])
    assert log.reads == {1: 1, 7: 1}


async def test_the_subject_that_was_needed_longest_ago_is_forgotten_first() -> None:
    log = Log([message(name, number) for number, name in enumerate("abcabc", start=1)])
    room = 4 * (10 + MESSAGE_BYTES)
    once = ReadOnce(log, bytes_max=room)

    for name in "abac":
        await read(once, name)
    assert once.size_bytes == room
    for name in "acb":
        assert len(await read(once, name)) == 2

    assert log.reads == {1: 1, 4: 1, 3: 1, 6: 1, 2: 2, 5: 2}


async def test_a_subject_that_does_not_fit_is_read_whole_and_keeps_to_the_bound() -> None:
    log = Log([message("a", number, 500) for number in range(1, 9)])
    room = 3 * (500 + MESSAGE_BYTES)
    once = ReadOnce(log, bytes_max=room)

    for _ in range(2):
        assert await read(once, "a") == list(range(1, 9))
        assert once.size_bytes == room

    assert [log.reads[number] for number in range(1, 9)] == [1, 1, 1, 2, 2, 2, 2, 2]
