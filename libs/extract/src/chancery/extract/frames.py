"""Length-prefixed frames to and from a process: 8 bytes big-endian, then the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

_PREFIX_BYTES = 8


class FrameBroken(Exception):
    """The other side went away, or sends something else."""


class FrameTooLarge(FrameBroken):
    """The other side announced more than it may send."""


def write_frames(stream: IO[bytes], frames: Sequence[bytes]) -> None:
    """Write the number of `frames` and then each of them."""
    stream.write(len(frames).to_bytes(_PREFIX_BYTES, "big"))
    for frame in frames:
        stream.write(len(frame).to_bytes(_PREFIX_BYTES, "big"))
        stream.write(frame)
    stream.flush()


def read_frames(stream: IO[bytes], *, bytes_max: int, count_max: int = 64) -> list[bytes]:
    """Return the frames of one message, of at most `bytes_max` bytes together.

    Raises:
        FrameBroken: when the stream ends early or a bound is exceeded (`FrameTooLarge`).
    """
    count = _number(stream)
    if count > count_max:
        raise FrameBroken
    found: list[bytes] = []
    left = bytes_max
    for _ in range(count):
        size_bytes = _number(stream)
        left -= size_bytes
        if left < 0:
            raise FrameTooLarge
        found.append(_exactly(stream, size_bytes))
    return found


def _number(stream: IO[bytes]) -> int:
    return int.from_bytes(_exactly(stream, _PREFIX_BYTES), "big")


def _exactly(stream: IO[bytes], size_bytes: int) -> bytes:
    data = stream.read(size_bytes)
    if len(data) != size_bytes:
        raise FrameBroken
    return data
