"""Events come out as they were sent, however their bytes are cut on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.client.errors import NotReadable
from chancery.client.handles import AnswerHandle
from chancery.client.streaming import EVENT_BYTES_MAX, Frame, frames, run_event

TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=30)
FRAMES = st.builds(
    Frame,
    st.integers(1, 99).map(lambda number: f"run.{number}"),
    st.sampled_from(["state", "activity", "sealed"]),
    st.lists(TEXTS, min_size=1, max_size=3).map("\n".join),
)


def sent(frame: Frame) -> bytes:
    lines = "".join(f"data: {line}\n" for line in frame.data.split("\n"))
    return f"id: {frame.id}\nevent: {frame.event}\n{lines}\n".encode()


async def chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def read(data: bytes, size: int = 7) -> list[Frame]:
    return [frame async for frame in frames(chunks(data, size))]


@given(st.lists(FRAMES, max_size=4), st.integers(1, 40))
async def test_frames_come_back_whole_from_any_cut(found: list[Frame], size: int) -> None:
    data = b": still here\n\n".join(map(sent, found))

    assert await read(data, size) == found


async def test_a_torn_last_event_is_dropped() -> None:
    whole = sent(Frame("run.1", "state", "{}"))

    assert await read(whole + b"id: run.2\nevent: end\ndata: {") == [Frame("run.1", "state", "{}")]


async def test_an_endless_event_is_refused() -> None:
    with pytest.raises(NotReadable):
        await read(b"data: " + b"a" * (EVENT_BYTES_MAX + 10), 1024 * 1024)


@pytest.mark.req("CL-11", "KO-5")
def test_a_sealed_event_leaves_its_content_behind() -> None:
    frame = Frame("run.3", "sealed", '{"run_id": "run", "generation": 2, "text": "secret"}')

    event = run_event(frame)

    assert event.handle == AnswerHandle("run", 2)
    assert event.told == {}
    assert "secret" not in repr(event)


def test_an_activity_event_keeps_what_it_tells() -> None:
    event = run_event(Frame("run.2", "activity", '{"run_id": "run", "stage": "select"}'))

    assert event.told == {"stage": "select"}
    assert event.handle is None


@pytest.mark.parametrize("frame", [Frame("1", "gossip", "{}"), Frame("1", "state", "no json")])
def test_an_event_of_another_form_is_refused(frame: Frame) -> None:
    with pytest.raises(NotReadable):
        run_event(frame)
