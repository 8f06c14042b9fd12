"""Files on disk under their final name only when they are whole and synced."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from chancery.kernel.clock import SystemClock

PARTIAL_AGE_MAX_S = 3600.0
"""A partial file older than this was left by a crash."""

_SYNCS_AT_ONCE = 4
_SYNCS: Executor = ThreadPoolExecutor(_SYNCS_AT_ONCE, "chancery-sync")


def put_in_place(file: BinaryIO, partial: Path, path: Path) -> None:
    """Sync an open file and give it its final name; the folder above is still to be synced.

    Each folder that has to be made is synced meanwhile: the disk does both in the time of one.
    """
    begun = [_SYNCS.submit(sync_folder, changed) for changed in make_folders(path.parent)]
    file.flush()
    os.fsync(file.fileno())
    for sync in begun:
        sync.result()
    partial.replace(path)


def renewed(path: Path, size: int, older_than_s: float) -> bool:
    """Tell whether the blob is there undamaged; it is not older than this any more then.

    One that the disk does not give is as good as none: whoever asks has the bytes for another one.
    """
    try:
        found = path.stat()
        if found.st_size != size:
            return False
        now = SystemClock().now().timestamp()
        if now - found.st_mtime > older_than_s:
            os.utime(path, (now, now))
        return is_intact(path)
    except OSError:
        return False


def is_intact(path: Path) -> bool:
    """Tell whether the file is there and has the bytes whose hash is its name."""
    try:
        with path.open("rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == path.name
    except FileNotFoundError:
        return False


def make_folders(path: Path) -> list[Path]:
    """Make a folder with those above it and return the ones that have a new entry to sync."""
    folders = (path, *path.parents)
    missing_folders = list(takewhile(lambda folder: not folder.is_dir(), folders))
    for folder in reversed(missing_folders):
        folder.mkdir(mode=0o700, exist_ok=True)
    return [folder.parent for folder in missing_folders]


def sync_folder(path: Path) -> None:
    """Put the entries of a folder on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clear_partial(folder: Path) -> None:
    """Remove the files in `folder` that a crash left there long ago."""
    oldest = SystemClock().now().timestamp() - PARTIAL_AGE_MAX_S
    for partial in folder.iterdir():
        with suppress(FileNotFoundError):  # Whoever writes it may end meanwhile.
            if partial.stat().st_mtime < oldest:
                partial.unlink()
