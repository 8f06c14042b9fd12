"""One line on a terminal that says how far a run is; elsewhere nothing is said."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from chancery.client.command.output import visible
from chancery.client.http import Heard
from chancery.client.streaming import RunEvent

_CLEARED = "\r\x1b[K"


@contextmanager
def showing_progress(*, is_shown: bool) -> Generator[Heard]:
    """Yield what is told of each event; the line is gone at the end of the block."""
    shown = is_shown and sys.stderr.isatty()

    def heard(event: RunEvent) -> None:
        stage = event.told.get("stage") or event.told.get("state")
        if shown and stage is not None:
            print(f"{_CLEARED}{visible(str(stage))}", end="", file=sys.stderr, flush=True)

    try:
        yield heard
    finally:
        if shown:
            print(_CLEARED, end="", file=sys.stderr, flush=True)
