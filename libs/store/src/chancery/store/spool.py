"""Bytes that arrive piece by piece: hashed on the way and kept in a file, few of them in memory."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable
from typing import BinaryIO, Final, TypeVar

from chancery.kernel.errors import Unavailable

T = TypeVar("T")

SPOOL_BUFFER_BYTES: Final = 256 * 1024
"""How many bytes wait in memory before they are written."""

WRITE_TIMEOUT_S: Final = 30.0
"""How long the disk may take for one of them."""


def unnamed_file() -> BinaryIO:
    """Return a file in the folder for temporary files that is gone when it is closed."""
    return tempfile.TemporaryFile(buffering=0)


class Spool:
    """A file that `create` makes when there is too much for memory; whoever makes it closes it.

    Every method raises `Unavailable` when the disk does not take or give the bytes.
    """

    def __init__(self, create: Callable[[], BinaryIO] = unnamed_file) -> None:
        """Make an empty one; no file yet."""
        self.size = 0
        self._create = create
        self._file: BinaryIO | None = None
        self._waiting = bytearray()
        self._hash = hashlib.sha256()

    async def write(self, data: bytes) -> None:
        """Add `data`."""
        self._waiting += data
        self.size += len(data)
        if len(self._waiting) >= SPOOL_BUFFER_BYTES:
            await self.file()

    async def read(self) -> bytes:
        """Return everything that was written."""
        if self._file is None:
            return bytes(self._waiting)
        return await _off_loop(self._read)

    async def file(self) -> BinaryIO:
        """Return the file with everything that was written."""
        return await _off_loop(self._written)

    async def sha256(self) -> str:
        """Return the hash of everything that was written."""
        found = self._hash.copy()
        found.update(self._waiting)
        return found.hexdigest()

    async def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            await _off_loop(self._file.close)

    def _written(self) -> BinaryIO:
        if self._file is None:
            self._file = self._create()
        self._hash.update(self._waiting)
        left = memoryview(self._waiting)
        while left:
            left = left[self._file.write(left) :]
        left.release()
        self._waiting = bytearray()
        return self._file

    def _read(self) -> bytes:
        file = self._written()
        file.seek(0)
        found = file.read()
        file.seek(0, os.SEEK_END)
        return found


async def _off_loop(work: Callable[[], T]) -> T:
    try:
        async with asyncio.timeout(WRITE_TIMEOUT_S):
            return await asyncio.to_thread(work)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk did not answer in time"
        message = f"an upload cannot be kept: {reason}"
        raise Unavailable(message, code="blobs_unavailable") from error
