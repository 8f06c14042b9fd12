"""Appends on a real stream: acknowledged, conditional, and all or nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chancery.bus.connection import Connection, connect
from chancery.bus.load import last_message, last_sequence, message_at, read_subject
from chancery.bus.publish import (
    DuplicateMessages,
    InFlight,
    WrongSequence,
    publish,
    publish_atomic,
    publish_message,
)
from chancery.events.codec import decode
from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunCancelled
from chancery.events.topology import AUTHORITY, FENCE_SUBJECT, RUNS
from chancery.kernel.errors import TooLarge, Unavailable
from chancery.testkit.waiting import eventually
from tests.integration.bus.messages import outgoing

pytestmark = pytest.mark.integration

SOURCE = "authority.t1.source.s1"


def cancelled() -> Event:
    data = RunCancelled(run_id="r1", credential_id="c1")
    envelope = Envelope(
        id="event-1",
        source="/chancery/gateway",
        type=data.TYPE,
        subject="r1",
        time=datetime(2026, 1, 2, tzinfo=UTC),
        tenant="t1",
    )
    return Event(envelope=envelope, data=data)


@pytest.mark.req("EV-3")
async def test_a_published_event_is_stored_under_its_id(connection: Connection) -> None:
    event = cancelled()

    published = await publish(connection, "run.t1.r1.cancelled", event)
    stored = await message_at(connection, RUNS, published.sequence)

    assert stored is not None
    assert stored.message_id == event.id
    assert decode(stored.payload) == event
    assert not published.duplicate


async def test_the_same_message_id_is_stored_once(connection: Connection) -> None:
    message = outgoing(SOURCE)

    first = await publish_message(connection, message)
    second = await publish_message(connection, message)

    assert (second.sequence, second.duplicate) == (first.sequence, True)
    assert (await last_sequence(connection, AUTHORITY)).last == first.sequence


async def test_a_stale_expectation_is_refused_with_the_newest_sequence(
    connection: Connection,
) -> None:
    first = await publish_message(connection, outgoing(SOURCE, expect_last=0))
    second = await publish_message(connection, outgoing(SOURCE, expect_last=first.sequence))

    with pytest.raises(WrongSequence) as caught:
        await publish_message(connection, outgoing(SOURCE, expect_last=first.sequence))

    assert caught.value.last == second.sequence
    assert (await last_sequence(connection, AUTHORITY)).last == second.sequence


async def test_of_racing_writers_to_one_subject_exactly_one_wins(connection: Connection) -> None:
    async def attempt() -> bool:
        try:
            await publish_message(connection, outgoing(SOURCE, expect_last=0))
        except (WrongSequence, InFlight):
            return False
        return True

    outcomes = await asyncio.gather(*(attempt() for _ in range(20)))

    assert outcomes.count(True) == 1


async def test_a_subject_without_stream_is_unavailable(connection: Connection) -> None:
    with pytest.raises(Unavailable) as caught:
        await publish_message(connection, outgoing("nowhere.t1"))

    assert caught.value.code == "no_responders"


async def test_a_message_above_the_limit_of_the_server_is_too_large(
    connection: Connection,
) -> None:
    payload = b"x" * (connection.client.max_payload + 1)

    with pytest.raises(TooLarge):
        await publish_message(connection, outgoing(SOURCE, payload))


async def test_a_fence_expires_and_an_authority_event_does_not(connection: Connection) -> None:
    fence = await publish_message(connection, outgoing(FENCE_SUBJECT, ttl_s=1))
    event = await publish_message(connection, outgoing(SOURCE))

    async def is_gone() -> bool:
        return await message_at(connection, AUTHORITY, fence.sequence) is None

    await eventually(is_gone)

    assert await message_at(connection, AUTHORITY, event.sequence) is not None


async def test_a_batch_is_stored_contiguously_and_in_order(connection: Connection) -> None:
    messages = [outgoing(f"authority.t1.source.s{number}") for number in range(1000)]

    published = await publish_atomic(connection, AUTHORITY, messages)

    assert [item.sequence for item in published] == list(range(1, 1001))
    last = await last_message(connection, AUTHORITY, "authority.t1.source.s999")
    assert last is not None
    assert (last.sequence, last.message_id) == (1000, messages[-1].message_id)


async def test_one_stale_expectation_refuses_the_whole_batch(connection: Connection) -> None:
    await publish_message(connection, outgoing(SOURCE))
    before = (await last_sequence(connection, AUTHORITY)).last
    messages = [
        outgoing("authority.t1.source.s2", expect_last=0),
        outgoing(SOURCE, expect_last=0),
        outgoing("authority.t1.source.s3", expect_last=0),
    ]

    with pytest.raises(WrongSequence):
        await publish_atomic(connection, AUTHORITY, messages)

    assert (await last_sequence(connection, AUTHORITY)).last == before
    fresh = [replace(messages[0]), replace(messages[2])]
    assert len(await publish_atomic(connection, AUTHORITY, fresh)) == 2


async def test_a_batch_sent_again_returns_where_it_is(connection: Connection) -> None:
    messages = [outgoing(f"authority.t1.source.s{number}") for number in range(5)]
    first = await publish_atomic(connection, AUTHORITY, messages)

    again = await publish_atomic(connection, AUTHORITY, messages)

    assert [item.sequence for item in again] == [item.sequence for item in first]
    assert all(item.duplicate for item in again)
    assert (await last_sequence(connection, AUTHORITY)).last == 5


async def test_a_batch_sent_again_is_found_behind_its_expectations(
    connection: Connection,
) -> None:
    await publish_message(connection, outgoing(SOURCE))
    messages = [
        outgoing(SOURCE, expect_last=1),
        outgoing("authority.t1.source.s2", expect_last=0),
    ]
    first = await publish_atomic(connection, AUTHORITY, messages)
    await publish_message(connection, outgoing(SOURCE))

    again = await publish_atomic(connection, AUTHORITY, messages)

    assert [item.sequence for item in again] == [item.sequence for item in first]


async def test_a_batch_that_repeats_only_a_part_is_refused(connection: Connection) -> None:
    old = outgoing(SOURCE)
    await publish_message(connection, old)

    with pytest.raises(DuplicateMessages):
        await publish_atomic(connection, AUTHORITY, [old, outgoing("authority.t1.source.fresh")])

    assert (await last_sequence(connection, AUTHORITY)).last == 1


async def test_a_subject_is_read_in_order_behind_a_sequence(connection: Connection) -> None:
    for number in range(4):
        await publish_message(connection, outgoing(SOURCE, str(number).encode()))
        await publish_message(connection, outgoing("authority.t1.source.other"))

    found = [item async for item in read_subject(connection, AUTHORITY, SOURCE, 1)]

    assert [(item.sequence, item.payload) for item in found] == [(3, b"1"), (5, b"2"), (7, b"3")]
    assert all(item.time.tzinfo is not None for item in found)


async def test_an_unwritten_subject_has_no_last_message(connection: Connection) -> None:
    assert await last_message(connection, AUTHORITY, SOURCE) is None
    assert await message_at(connection, AUTHORITY, 1) is None


async def test_a_missing_stream_is_unavailable_not_empty(bare: Connection) -> None:
    with pytest.raises(Unavailable):
        await last_message(bare, AUTHORITY, SOURCE)
    with pytest.raises(Unavailable):
        await last_sequence(bare, AUTHORITY)


async def test_an_unreachable_server_is_unavailable_in_time() -> None:
    with pytest.raises(Unavailable):
        async with connect("nats://127.0.0.1:9", name="tests", timeout_s=0.5):
            pass
