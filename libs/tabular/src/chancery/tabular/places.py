"""The two paths that a worker's database may open: unnamed files of this process alone.

On Linux they lie in memory, so that no row touches a disk.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from chancery.nursery.frames import Incoming


@dataclass(frozen=True, slots=True)
class Place:
    """One unnamed file under a descriptor that is the same in every worker."""

    descriptor: int

    @property
    def path(self) -> str:
        """Return the path under which the database opens it."""
        return f"/dev/fd/{self.descriptor}"

    def open(self) -> None:
        """Make it an empty file; DuckDB resolves a path that it is allowed when that is set."""
        if sys.platform == "linux":
            opened = os.memfd_create("rows")
            os.dup2(opened, self.descriptor)
            os.close(opened)
            return
        with tempfile.TemporaryFile() as file:
            os.dup2(file.fileno(), self.descriptor)

    def close(self) -> None:
        """Make the path nothing that could be opened."""
        os.close(self.descriptor)

    @contextmanager
    def holding(self, incoming: Incoming) -> Generator[None]:
        """Let it hold the next frame for a while."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        with open(self.descriptor, "wb", closefd=False) as file:
            incoming.copy_to(file)
        try:
            yield
        finally:
            os.ftruncate(self.descriptor, 0)

    def size_bytes(self) -> int:
        """Return how many bytes it holds."""
        return os.fstat(self.descriptor).st_size

    def contents(self) -> bytes:
        """Return what it holds."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        with open(self.descriptor, "rb", closefd=False) as file:
            return file.read()


SNAPSHOT: Final = Place(200)
"""Where the rows of a job are read from."""

CUT: Final = Place(201)
"""Where a cut is written; closed in every process that makes none."""
