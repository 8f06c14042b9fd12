"""Taking a folder from a process that is writing into it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path


def take_away(folder: Path) -> None:
    """Remove `folder` and all that is in it at one moment.

    It is renamed first: while the files of a folder in use are deleted one by one, its user adds
    and replaces some, and the deletion fails on what it no longer finds or did not expect.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent.parent) as place:
        folder.rename(Path(place) / folder.name)
        shutil.rmtree(Path(place) / folder.name)
