"""How slowly a body may arrive."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from chancery.gateway.domain.digests import BodyDigest
from chancery.gateway.errors import SlowBody
from chancery.gateway.handlers.arriving import Arrival, Pace

PACE = Pace()


@given(received=st.integers(0, 2**40), waited_s=st.floats(0, 1000))
def test_nobody_is_waited_for_longer_than_a_pause_or_all_of_the_time(
    received: int, waited_s: float
) -> None:
    patience_s = PACE.patience_s(received, waited_s)

    assert patience_s <= PACE.pause_max_s
    assert waited_s + patience_s <= PACE.within_s
    assert PACE.patience_s(received + 1, waited_s) >= patience_s


def test_who_sends_a_byte_now_and_then_is_cut_off_and_who_keeps_the_pace_is_not() -> None:
    dribbling = [PACE.patience_s(received=seconds, waited_s=seconds) for seconds in range(40)]
    steady = [PACE.patience_s(20 * 1024 * seconds, seconds) for seconds in range(250)]

    assert dribbling[0] > 0 > dribbling[35]
    assert min(steady) > 0


async def test_a_body_that_dribbles_is_refused_while_it_arrives() -> None:
    count = 0

    async def receive() -> Message:
        nonlocal count
        count += 1
        loop = asyncio.get_running_loop()
        late: asyncio.Future[None] = loop.create_future()
        loop.call_later(0.01, late.set_result, None)
        await late
        return {"type": "http.request", "body": b"x", "more_body": True}

    pace = Pace(pause_max_s=5, grace_s=0.05, bytes_per_s_min=1000)
    arrival = Arrival(receive, 10_000, pace, BodyDigest("text/plain", b""))

    async def arrive() -> None:
        while not arrival.is_whole:
            await arrival()

    with pytest.raises(SlowBody):
        await arrive()
    assert 1 < count < 1000


async def test_time_in_which_the_edge_does_not_wait_for_the_sender_does_not_count() -> None:
    ready: list[Message] = [{"type": "http.request", "body": b"x", "more_body": True}] * 3

    async def receive() -> Message:
        return ready.pop()

    arrival = Arrival(receive, 10, Pace(grace_s=60), BodyDigest("text/plain", b""))
    for _ in range(3):
        await arrival()

    assert arrival.received == 3
    assert not arrival.is_whole
