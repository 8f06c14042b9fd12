"""The pull reader on a real stream: everything once, in order, at once, and never silently less."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from pydantic import BaseModel

from chancery.bus.connection import Connection
from chancery.bus.load import Stored, last_sequence, message_at
from chancery.bus.publish import publish_atomic, publish_message
from chancery.bus.pull import ConsumerLost, PullInbox
from chancery.bus.reader import PullReader, ReaderContended
from chancery.events.topology import (
    AUTHORITY,
    FENCE_SUBJECT,
    INDEX,
    RELEASE_AUTHORITY,
    RELEASE_INDEX,
    consumer,
)
from chancery.kernel.errors import Unavailable
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.bus.messages import outgoing

pytestmark = pytest.mark.integration


class Empty(BaseModel):
    """An answer whose fields do not matter."""


async def fill(connection: Connection, count: int) -> None:
    for start in range(0, count, 1000):
        messages = [
            outgoing(f"authority.t1.source.s{number % 50}", str(number).encode())
            for number in range(start, min(count, start + 1000))
        ]
        await publish_atomic(connection, AUTHORITY, messages)


async def take(batches: AsyncGenerator[list[Stored]], count: int) -> list[Stored]:
    found: list[Stored] = []
    async with asyncio.timeout(2 * WITHIN_S):
        async for batch in batches:
            found += batch
            if len(found) >= count:
                return found
    raise AssertionError


def reader_of(connection: Connection, name: str = RELEASE_AUTHORITY) -> PullReader:
    return PullReader(connection, consumer(name), idle_s=0.2)


async def test_every_message_arrives_once_and_in_order(connection: Connection) -> None:
    await fill(connection, 5000)
    reader = reader_of(connection)

    async with aclosing(reader.read(0)) as batches:
        found = await take(batches, 5000)

    assert [item.sequence for item in found] == list(range(1, 5001))
    assert [int(item.payload) for item in found] == list(range(5000))
    assert (reader.position, reader.pending, reader.resets) == (5000, 0, 1)


async def test_a_message_is_read_with_the_attributes_in_its_headers(connection: Connection) -> None:
    headers = {"ce-specversion": "1.0", "Ce-Id": "e1", "Nats-Msg-Id": "m1"}
    await connection.client.request("authority.t1.source.s1", b"{}", headers=headers, timeout=20)
    await fill(connection, 1)

    async with aclosing(reader_of(connection).read(0)) as batches:
        attributed, plain = await take(batches, 2)

    assert attributed.headers == {"ce-specversion": "1.0", "ce-id": "e1"}
    assert (attributed.message_id, plain.headers) == ("m1", {})
    assert await message_at(connection, AUTHORITY, attributed.sequence) == attributed


async def test_reading_starts_behind_the_checkpoint(connection: Connection) -> None:
    await fill(connection, 100)
    reader = reader_of(connection)

    async with aclosing(reader.read(60)) as batches:
        first = await take(batches, 40)
    async with aclosing(reader.read(98)) as batches:
        again = await take(batches, 2)

    assert [item.sequence for item in first] == list(range(61, 101))
    assert [item.sequence for item in again] == [99, 100]


async def test_a_caught_up_reader_gets_the_next_message(connection: Connection) -> None:
    await fill(connection, 3)
    reader = reader_of(connection)

    async with aclosing(reader.read(3)) as batches:
        assert await anext(batches) == []
        published = await publish_message(connection, outgoing("cut.t1"))
        found = await take(batches, 1)

    assert [item.sequence for item in found] == [published.sequence]


async def test_a_message_reaches_an_idle_reader_within_milliseconds(
    connection: Connection,
) -> None:
    reader = reader_of(connection)

    async with aclosing(reader.read(0)) as batches:
        assert await anext(batches) == []

        async def delay_s() -> float:
            began = time.perf_counter()
            await publish_message(connection, outgoing("cut.t1"))
            await take(batches, 1)
            return time.perf_counter() - began

        async def is_prompt() -> bool:
            return sorted([await delay_s() for _ in range(20)])[10] < 0.1

        # A busy machine has quiet moments; one that only looks now and then is late in each.
        assert await eventually(is_prompt)


async def test_expired_fences_are_no_gap(connection: Connection) -> None:
    await publish_message(connection, outgoing("cut.t1"))
    await publish_message(connection, outgoing(FENCE_SUBJECT, ttl_s=1))
    await publish_message(connection, outgoing("cut.t1"))
    deadline = time.monotonic() + WITHIN_S
    reader = reader_of(connection)
    while len(found := await _all(reader)) > 2:
        assert time.monotonic() < deadline

    assert [item.sequence for item in found] == [1, 3]
    assert (await last_sequence(connection, AUTHORITY)).last == 3


async def _all(reader: PullReader) -> list[Stored]:
    found: list[Stored] = []
    async with aclosing(reader.read(0)) as batches:
        async for batch in batches:
            found += batch
            if not batch:
                return found
    raise AssertionError


async def test_deliveries_taken_by_another_are_fetched_again(connection: Connection) -> None:
    reader = reader_of(connection)
    thief = PullInbox(connection, AUTHORITY, RELEASE_AUTHORITY)

    async with aclosing(reader.read(0)) as batches:
        await fill(connection, 10)
        found = await take(batches, 10)
        await thief.open()
        await thief.request(400)
        await fill(connection, 2000)
        found += await take(batches, 2000)
    await thief.close()

    assert [item.sequence for item in found] == list(range(1, 2011))
    assert reader.resets > 1


async def test_a_deleted_consumer_is_noticed(connection: Connection) -> None:
    async with aclosing(reader_of(connection).read(0)) as batches:
        assert await anext(batches) == []
        await connection.api(f"CONSUMER.DELETE.{AUTHORITY}.{RELEASE_AUTHORITY}", None, Empty)
        with pytest.raises(ConsumerLost):
            await take(batches, 1)


async def test_a_missing_consumer_is_refused_at_the_start(bare: Connection) -> None:
    with pytest.raises(Unavailable):
        await anext(reader_of(bare).read(0))


async def test_a_position_beyond_the_end_waits_and_skips_nothing_later(
    connection: Connection,
) -> None:
    reader = reader_of(connection, RELEASE_INDEX)

    async with aclosing(reader.read(0)) as batches:
        assert await anext(batches) == []
        await publish_message(connection, outgoing("index.t1.source.k1"))
        found = await take(batches, 1)

    assert [item.sequence for item in found] == [1]
    assert (await last_sequence(connection, INDEX)).last == 1


async def test_two_readers_on_one_consumer_never_see_a_gap(connection: Connection) -> None:
    async def follow(found: list[int]) -> None:
        try:
            async with aclosing(reader_of(connection).read(0)) as batches:
                async for batch in batches:
                    found += [item.sequence for item in batch]
        except (ReaderContended, ConsumerLost):
            return

    first: list[int] = []
    second: list[int] = []
    async with asyncio.TaskGroup() as group:
        followers = [group.create_task(follow(first))]
        await fill(connection, 10)
        await eventually(lambda: first)
        followers.append(group.create_task(follow(second)))
        for _ in range(20):
            await fill(connection, 10)
        await asyncio.wait(followers, timeout=3)
        for each in followers:
            each.cancel()

    assert first == list(range(1, len(first) + 1))
    assert second == list(range(1, len(second) + 1))
