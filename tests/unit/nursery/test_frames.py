"""Frames arrive whole or not at all."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.nursery.frames import FrameBroken, FrameTooLarge, Incoming, read_frames, write_frames


def written(frames: list[bytes]) -> bytes:
    stream = io.BytesIO()
    write_frames(stream, frames)
    return stream.getvalue()


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_reading_is_the_inverse_of_writing(frames: list[bytes]) -> None:
    assert read_frames(io.BytesIO(written(frames)), bytes_max=200) == frames


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=3), st.data())
def test_a_message_that_ends_early_is_broken(frames: list[bytes], data: st.DataObject) -> None:
    whole = written(frames)
    cut = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(FrameBroken):
        read_frames(io.BytesIO(whole[:cut]), bytes_max=200)


def test_more_bytes_or_frames_than_allowed_are_broken() -> None:
    whole = written([b"abc", b"def"])

    assert read_frames(io.BytesIO(whole), bytes_max=6) == [b"abc", b"def"]
    with pytest.raises(FrameTooLarge):
        read_frames(io.BytesIO(whole), bytes_max=5)
    with pytest.raises(FrameBroken):
        read_frames(io.BytesIO(written([b""] * 65)), bytes_max=6)
    assert read_frames(io.BytesIO(written([b""] * 64)), bytes_max=6) == [b""] * 64


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4))
def test_frames_can_be_taken_one_by_one(frames: list[bytes]) -> None:
    incoming = Incoming(io.BytesIO(written(frames)), bytes_max=200)
    first = io.BytesIO()

    incoming.copy_to(first)
    rest = [incoming.take() for _ in range(incoming.left)]

    assert [first.getvalue(), *rest] == frames
    with pytest.raises(FrameBroken):
        incoming.take()


def test_a_frame_of_several_pieces_arrives_whole() -> None:
    frame = bytes(range(256)) * 9_000
    file = io.BytesIO()

    Incoming(io.BytesIO(written([frame])), bytes_max=len(frame)).copy_to(file)

    assert file.getvalue() == frame
    with pytest.raises(FrameBroken):
        Incoming(io.BytesIO(written([frame])[:-1]), bytes_max=len(frame)).copy_to(io.BytesIO())
