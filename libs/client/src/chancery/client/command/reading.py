"""Files that people name, read no further than a server would take them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from chancery.client.command.file_ids import readable
from chancery.extract.encoding import REMEDY
from chancery.kernel.errors import Rejected, TooLarge

STANDARD_INPUT: Final = Path("-")


def read_file(path: Path, *, bytes_max: int) -> bytes:
    """Return the bytes of a file; nothing is read of one that is known to be longer.

    Raises:
        TooLarge: it has more than `bytes_max`.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # What has no size of its own, or grows, tells that it is too long by its bytes.
        data = b"" if size > bytes_max else file.read(bytes_max + 1)
    if size > bytes_max:
        message = f"the file has {size:,} bytes, the most are {bytes_max:,}"
        raise TooLarge(message, field="content")
    if len(data) > bytes_max:
        message = f"the file has more than {bytes_max:,} bytes, which are the most"
        raise TooLarge(message, field="content")
    return data


def read_text(path: Path, *, bytes_max: int) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        TooLarge: it has more than `bytes_max`.
        Rejected: it is not UTF-8.
    """
    data = _standard_input(bytes_max) if path == STANDARD_INPUT else _named(path, bytes_max)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{readable(path)} is not UTF-8: byte {error.start} cannot be decoded; {REMEDY}"
        raise Rejected(message, field="path", code="invalid_utf8") from error


def _standard_input(bytes_max: int) -> bytes:
    data = sys.stdin.buffer.read(bytes_max + 1)
    if len(data) > bytes_max:
        message = f"standard input has more than {bytes_max:,} bytes, which are the most"
        raise TooLarge(message, field="path")
    return data


def _named(path: Path, bytes_max: int) -> bytes:
    try:
        return read_file(path, bytes_max=bytes_max)
    except TooLarge as error:
        raise TooLarge(f"{readable(path)}: {error.detail}", field="path") from error
