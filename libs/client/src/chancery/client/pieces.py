"""A file on its way to the server: read a piece at a time, so that memory holds one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from chancery.kernel.errors import Conflict

PIECE_BYTES: Final = 256 * 1024


class FileChanged(Conflict):
    """The file is another one than when its sending began."""

    code = "file_changed"


def size_of(path: Path) -> int:
    """Return how many bytes a file has."""
    return path.stat().st_size


async def pieces_of(path: Path, size: int) -> AsyncIterator[bytes]:
    """Yield the file, which has `size` bytes.

    Raises:
        FileChanged: when it turns out to have more or less.
    """
    file = await asyncio.to_thread(path.open, "rb")
    try:
        left = size
        while left:
            piece = await asyncio.to_thread(file.read, min(PIECE_BYTES, left))
            if not piece:
                raise _changed()
            left -= len(piece)
            if not left and await asyncio.to_thread(file.read, 1):
                raise _changed()
            yield piece
    finally:
        await asyncio.to_thread(file.close)


def _changed() -> FileChanged:
    message = "the file changed while it was being sent; send it again"
    return FileChanged(message, field="path")
