"""Length-prefixed frames to and from a process: 8 bytes big-endian, then the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

_PREFIX_BYTES = 8
_COUNT_MAX = 64
_CHUNK_BYTES = 1024 * 1024


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


class Incoming:
    """The frames of one message, of at most `bytes_max` bytes together, one after the other.

    Each method raises `FrameBroken` when the stream ends early, `FrameTooLarge` beyond the bound.
    """

    def __init__(self, stream: IO[bytes], *, bytes_max: int) -> None:
        self._stream = stream
        self._left_bytes = bytes_max
        self.left = _number(stream)
        if self.left > _COUNT_MAX:
            raise FrameBroken

    def take(self) -> bytes:
        """Return the next frame."""
        return _exactly(self._stream, self._size())

    def copy_to(self, file: IO[bytes]) -> None:
        """Write the next frame into `file`, a piece at a time."""
        size_bytes = self._size()
        while size_bytes:
            piece = _exactly(self._stream, min(size_bytes, _CHUNK_BYTES))
            file.write(piece)
            size_bytes -= len(piece)

    def _size(self) -> int:
        if not self.left:
            raise FrameBroken
        self.left -= 1
        size_bytes = _number(self._stream)
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            raise FrameTooLarge
        return size_bytes


def read_frames(stream: IO[bytes], *, bytes_max: int) -> list[bytes]:
    """Return all frames of one message, of at most `bytes_max` bytes together.

    Raises:
        FrameBroken: when the stream ends early or a bound is exceeded (`FrameTooLarge`).
    """
    incoming = Incoming(stream, bytes_max=bytes_max)
    return [incoming.take() for _ in range(incoming.left)]


def _number(stream: IO[bytes]) -> int:
    return int.from_bytes(_exactly(stream, _PREFIX_BYTES), "big")


def _exactly(stream: IO[bytes], size_bytes: int) -> bytes:
    data = stream.read(size_bytes)
    if len(data) != size_bytes:
        raise FrameBroken
    return data
