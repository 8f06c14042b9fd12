"""The folder that is searched, and the one that is built beside it until it takes its place.

Taking the place is one rename; a marker says that it is due, so that a crash before or after it is
made good at the next start.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from chancery.retrieval.adapters.checkpoint import FileCheckpoint

_DUE = "due"


@dataclass(frozen=True, slots=True)
class IndexFolders:
    """The folders of one process; `live` is the one that is searched."""

    live: Path

    @property
    def beside(self) -> Path:
        """Return the folder that is built while `live` is searched."""
        return self.live.with_name(f"{self.live.name}-beside")

    @property
    def wish(self) -> Path:
        """Return the file whose presence asks for a rebuild."""
        return self.live.with_name(f"{self.live.name}-rebuild")

    def checkpoint(self, folder: Path) -> FileCheckpoint:
        """Return where the reader of a folder's indexes keeps its mark.

        What is searched may be of an older format until another one takes its place.
        """
        return FileCheckpoint(folder / "checkpoint.json", keeps_format=folder == self.live)

    def is_wished(self) -> bool:
        """Tell whether somebody asked for a rebuild."""
        return self.wish.exists()

    def switch(self) -> None:
        """Put what was built beside in the place of what was searched, and end the wish."""
        marker = self.beside / _DUE
        marker.touch()
        _sync(self.beside)
        self.settle()
        self.wish.unlink(missing_ok=True)

    def settle(self) -> None:
        """Finish a switch that is due, and wish for a rebuild of an index of another format."""
        if (self.beside / _DUE).exists():
            shutil.rmtree(self.live, ignore_errors=True)
            self.beside.rename(self.live)
            _sync(self.live.parent)
        (self.live / _DUE).unlink(missing_ok=True)
        if self.checkpoint(self.live).is_outdated():
            self.wish.touch()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
