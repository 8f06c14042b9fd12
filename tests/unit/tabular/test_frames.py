"""Frames arrive whole or not at all."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.tabular.frames import FrameBroken, read_frames, write_frames


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
    with pytest.raises(FrameBroken):
        read_frames(io.BytesIO(whole), bytes_max=5)
    with pytest.raises(FrameBroken):
        read_frames(io.BytesIO(written([b""] * 65)), bytes_max=6)
    assert read_frames(io.BytesIO(written([b""] * 64)), bytes_max=6) == [b""] * 64
