"""Folders of tests: where there is room for many, and how one is taken from its user."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import psutil

MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 2 * 1024**3
"""More than the files of one run of all tests."""


def in_memory(place: Path = MEMORY, room_bytes: int = ROOM_BYTES) -> Path | None:
    """Return `place` when files in it are as good as on a disk, and a run of all tests has room.

    A disk that is told to sync each commit takes a third of the time of the integration tests;
    what survives a crash of a process is the same in memory.
    """
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        return None
    found = os.statvfs(place)
    free = min(found.f_bavail * found.f_frsize, psutil.virtual_memory().available // 2)
    may_run_programs = not found.f_flag & os.ST_NOEXEC
    return place if may_run_programs and free >= room_bytes else None


def take_away(folder: Path) -> None:
    """Remove `folder` and all that is in it at one moment.

    It is renamed first: while the files of a folder in use are deleted one by one, its user adds
    and replaces some, and the deletion fails on what it no longer finds or did not expect.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent.parent) as place:
        folder.rename(Path(place) / folder.name)
        shutil.rmtree(Path(place) / folder.name)
