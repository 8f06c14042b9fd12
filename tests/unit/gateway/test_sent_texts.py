"""The text of a revision on its way to its reader: whole, and out of memory however slow he is."""

from __future__ import annotations

import asyncio
import tracemalloc
from dataclasses import dataclass, field

import pytest
from starlette.types import Message

from chancery.events.requests import Caller
from chancery.gateway.errors import TextsFull
from chancery.gateway.handlers.edge import SENT_OF_ONE_MAX, Edge
from chancery.gateway.handlers.sending import PIECE_BYTES, SentText
from chancery.kernel.errors import NotFound
from chancery.store.spool import SPOOL_BUFFER_BYTES
from chancery.testkit.waiting import eventually
from tests.unit.gateway.fakes import KEY, World

LONG = b"0123456789abcdef" * (4 * 1024 * 1024 // 16) + b"end"
ADA, BO = (
    Caller(tenant="t1", principal=each, credential_id="c", proof="0" * 64) for each in ("ada", "bo")
)


@dataclass(slots=True)
class Reader:
    """Takes a piece when it may; keeps its number of bytes, or the bytes too."""

    keeps: bool = True
    may: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    pieces: list[bytes] = field(default_factory=list[bytes])
    starts: list[Message] = field(default_factory=list[Message])

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.starts.append(message)
            return
        await self.may.acquire()
        self.pieces.append(message["body"] if self.keeps else b"")

    def hurry(self) -> None:
        for _ in range(10_000):
            self.may.release()


def edge() -> Edge:
    world = World()
    return Edge(world.owners, world.announcements, world.nudges, world.blobs, KEY)


async def nothing() -> Message:
    return {"type": "http.disconnect"}


def sent(on: Edge, caller: Caller, text: bytes, within_s: float = 30.0) -> SentText:
    async def load() -> bytes:
        return bytes(bytearray(text))

    return SentText(on, caller, load, piece_within_s=within_s)


@pytest.mark.parametrize(
    "text",
    [b"", b"short", b"x" * SPOOL_BUFFER_BYTES, b"y" * (SPOOL_BUFFER_BYTES - 1), LONG],
    ids=len,
)
async def test_a_text_arrives_whole_with_its_length(text: bytes) -> None:
    reader = Reader()
    reader.hurry()

    await sent(edge(), ADA, text)({}, nothing, reader.send)

    assert b"".join(reader.pieces) == text
    headers = dict(reader.starts[0]["headers"])
    assert headers[b"content-length"] == str(len(text)).encode()
    assert headers[b"content-type"] == b"text/plain; charset=utf-8"
    assert max(map(len, reader.pieces)) <= max(PIECE_BYTES, SPOOL_BUFFER_BYTES)


async def test_slow_readers_of_long_texts_keep_none_of_them_in_memory() -> None:
    on, readers = edge(), [Reader(keeps=False) for _ in range(SENT_OF_ONE_MAX)]
    tracemalloc.start()
    try:
        async with asyncio.TaskGroup() as group:
            before, _ = tracemalloc.get_traced_memory()
            for each in readers:
                group.create_task(sent(on, ADA, LONG)({}, nothing, each.send))
            await eventually(lambda: all(each.starts for each in readers))
            while_slow, _ = tracemalloc.get_traced_memory()
            for each in readers:
                each.hurry()
    finally:
        tracemalloc.stop()

    assert while_slow - before < len(LONG)
    assert all(len(each.pieces) > len(LONG) // PIECE_BYTES for each in readers)


async def test_slow_readers_of_one_caller_keep_no_other_from_reading() -> None:
    on, slow = edge(), [Reader(keeps=False) for _ in range(SENT_OF_ONE_MAX)]
    quick = Reader()
    quick.hurry()
    on.sending.wait_s = 0.05
    async with asyncio.TaskGroup() as group:
        for each in slow:
            group.create_task(sent(on, ADA, LONG)({}, nothing, each.send))
        await eventually(lambda: all(each.starts for each in slow))

        with pytest.raises(TextsFull):
            await sent(on, ADA, LONG)({}, nothing, quick.send)
        await sent(on, BO, LONG)({}, nothing, quick.send)
        for each in slow:
            each.hurry()

    assert b"".join(quick.pieces) == LONG


async def test_a_reader_who_takes_too_long_for_a_piece_gets_no_more() -> None:
    on, reader = edge(), Reader()

    await sent(on, ADA, LONG, within_s=0.05)({}, nothing, reader.send)

    assert reader.starts
    assert reader.pieces == []
    assert on.sending.held_now == on.texts.held_now == 0


async def test_a_text_that_cannot_be_loaded_is_refused_before_anything_is_sent() -> None:
    on, reader = edge(), Reader()

    async def load() -> bytes:
        message = "there is no such blob"
        raise NotFound(message)

    with pytest.raises(NotFound):
        await SentText(on, ADA, load)({}, nothing, reader.send)

    assert reader.starts == []
    assert on.sending.held_now == on.texts.held_now == 0
