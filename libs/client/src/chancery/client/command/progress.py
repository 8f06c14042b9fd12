"""One line on a terminal that says how far something is; elsewhere nothing is said."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from chancery.client.command.output import visible
from chancery.client.http import Heard
from chancery.client.streaming import RunEvent

_CLEARED = "\r\x1b[K"
_SHOWN_EVERY_S = 0.2


@contextmanager
def showing_progress(*, is_shown: bool) -> Generator[Heard]:
    """Yield what is told of each event; the line is gone at the end of the block."""
    with _line(is_shown=is_shown) as show:

        def heard(event: RunEvent) -> None:
            stage = event.told.get("stage") or event.told.get("state")
            if stage is not None:
                show(str(stage))

        yield heard


@contextmanager
def showing_line(*, is_shown: bool) -> Generator[Callable[[str, int, int], None]]:
    """Yield what is told of each step: its name, how far it is and how far it goes."""
    told = 0.0
    with _line(is_shown=is_shown) as show:

        def tell(step: str, done: int, total: int) -> None:
            nonlocal told
            moment = time.monotonic()
            if done == total or moment > told + _SHOWN_EVERY_S:
                told = moment
                show(f"{step}: {done} of {total}")

        yield tell


@contextmanager
def _line(*, is_shown: bool) -> Generator[Callable[[str], None]]:
    """Yield what writes over the line of a terminal; the line is gone at the end of the block."""
    if not (is_shown and sys.stderr.isatty()):
        yield lambda _: None
        return

    def show(line: str) -> None:
        print(f"{_CLEARED}{visible(line)}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(_CLEARED, end="", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Counter:
    """How many of so many have ended; shown on a terminal while it is counted."""

    total: int
    is_shown: bool = False
    ended: int = 0
    failed: int = 0

    def count(self, *, is_failed: bool) -> None:
        """Note that one more has ended."""
        self.ended += 1
        self.failed += is_failed

    @contextmanager
    def hidden(self) -> Generator[None]:
        """Take the line away for the block, in which something else is printed."""
        self._print("")
        yield
        failed = f", {self.failed} failed" if self.failed else ""
        self._print(f"{self.ended} of {self.total}{failed}")

    def _print(self, line: str) -> None:
        if self.is_shown:
            print(f"{_CLEARED}{line}", end="", file=sys.stderr, flush=True)


@contextmanager
def counting(total: int, *, is_shown: bool) -> Generator[Counter]:
    """Yield a counter; its line is gone at the end of the block."""
    counter = Counter(total, is_shown and sys.stderr.isatty())
    try:
        yield counter
    finally:
        if counter.is_shown:
            print(_CLEARED, end="", file=sys.stderr, flush=True)
