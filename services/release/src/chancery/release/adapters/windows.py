"""Stores wide windows of the authority log, each while the next one is being folded.

For rebuilds, where the whole log is there: of the states that an aggregate has in a window only the
last one is written, and rows and checkpoint are still committed together. A window that the
database refuses is read and stored again in small batches, message by message where it has to be.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from chancery.bus.load import Stored
from chancery.release.adapters.authority_rows import AuthorityApplier, Change, in_order
from chancery.release.adapters.projector import Turn
from chancery.release.adapters.refusals import REFUSED, is_doubtful
from chancery.release.domain.authority_fold import AggregateKey, Folded, fold_on
from chancery.release.domain.marks import Mark

WINDOW_CHARACTERS: Final = 32 * 1024 * 1024
ENVELOPE_BYTES: Final = 256
EVENT_CHARACTERS: Final = 64
"""A window is as wide as what its events say: without the envelope, but so much at least."""
WINDOW_ROWS: Final = 60_000
WINDOW_S: Final = 30.0
"""What an interrupted rebuild does again at most."""
ROWS_AT_ONCE: Final = 1000
KNOWN_ROWS: Final = 60_000
KNOWN_CHARACTERS: Final = 24 * 1024 * 1024
"""With one window that is stored and one that is folded, less than 400 MB."""

_Written: TypeAlias = list[object]


class Way(Protocol):
    """A way into a table set."""

    async def apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        """Take messages, and return the mark behind them.

        An earlier one is returned when the log has to be read again from there.
        """
        ...

    async def settle(self, mark: Mark) -> Mark:
        """Wait until everything is stored; return `mark`, or one to read from as `apply` does."""
        ...


@dataclass(frozen=True, slots=True)
class Narrow:
    """Stores each batch at once."""

    turn: Turn

    async def apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        """Store a batch; see `Way`."""
        return await self.turn.apply(mark, messages)

    async def settle(self, mark: Mark) -> Mark:
        """Return `mark`."""
        return mark


@dataclass(slots=True)
class _Window:
    """What is folded on top of what was known `before`."""

    before: Mark
    folded: Folded
    until_s: float
    characters: int = 0

    @property
    def is_wide(self) -> bool:
        """Tell whether it is time to store it."""
        folded = self.folded
        rows = len(folded.rows) + len(folded.quarantined) + len(folded.cuts)
        return (
            self.characters >= WINDOW_CHARACTERS
            or rows >= WINDOW_ROWS
            or asyncio.get_running_loop().time() >= self.until_s
        )


@dataclass(frozen=True, slots=True)
class _Storing:
    """A window on its way into the database."""

    task: asyncio.Task[Exception | None]
    before: Mark


@dataclass(slots=True)
class Windows:
    """Folds one window while at most one other is stored."""

    group: asyncio.TaskGroup
    turn: Turn
    applier: AuthorityApplier
    _open: _Window | None = None
    _storing: _Storing | None = None
    _refused: Mark | None = None
    _narrow_until: int = 0

    async def apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        """Fold messages into the open window, and begin to store it when it is wide; see `Way`.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        if messages[0].sequence <= self._narrow_until or is_doubtful(messages):
            return await self._apply_narrowly(mark, messages)
        if self._missing(mark, messages) and not await self._recall(mark, messages):
            return await self._apply_narrowly(mark, messages)
        window = self._fold(mark, messages)
        # The socket and the window that is being stored have their turns.
        await asyncio.sleep(0)
        after = window.folded.mark
        if window.is_wide and not await self._rotate():
            return self._back(after)
        return after

    async def settle(self, mark: Mark) -> Mark:
        """Store the open window and wait until all is stored; see `Way`.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        is_stored = await self._rotate() and await self._finish()
        return mark if is_stored else self._back(mark)

    async def _apply_narrowly(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        settled = await self.settle(mark)
        return settled if settled is not mark else await self.turn.apply(mark, messages)

    def _missing(self, mark: Mark, messages: Sequence[Stored]) -> list[AggregateKey]:
        changed = () if self._open is None else self._open.folded.rows
        return self.applier.misses(mark, messages, changed)

    async def _recall(self, mark: Mark, messages: Sequence[Stored]) -> bool:
        """Read rows that are not known; tell whether they could be read."""
        if not await self._finish():
            return False
        # What was stored made room, perhaps of rows that were known a moment ago.
        missing = self._missing(mark, messages)
        try:
            await self.applier.recall(self.turn.db, self.turn.table_set, missing)
        except REFUSED:
            return False
        return True

    def _fold(self, mark: Mark, messages: Sequence[Stored]) -> _Window:
        window = self._open
        if window is None:
            until_s = asyncio.get_running_loop().time() + WINDOW_S
            window = self._open = _Window(mark, Folded.at(mark), until_s)
        fold_on(window.folded, self.applier.known.rows, messages)
        window.characters += _characters(messages)
        return window

    async def _rotate(self) -> bool:
        """Begin to store the open window; tell whether the one before it was stored."""
        if not await self._finish():
            return False
        window, self._open = self._open, None
        if window is not None:
            # What is forgotten of it before it is stored is read after that: see `_recall`.
            self.applier.known.keep(window.folded.rows)
            self.applier.known.make_room()
            self._storing = _Storing(self.group.create_task(self._store(window)), window.before)
        return True

    async def _finish(self) -> bool:
        """Wait for the window that is being stored; tell whether it was."""
        storing, self._storing = self._storing, None
        error = None if storing is None else await storing.task
        if storing is None or error is None:
            self.applier.known.make_room()
            return self._refused is None
        if not isinstance(error, REFUSED):
            raise error
        # What was folded since then was folded on rows that are not stored.
        self.applier.known.forget()
        self._open, self._refused = None, storing.before
        return False

    def _back(self, mark: Mark) -> Mark:
        """Return where to read again after a refusal; what was folded up to `mark` is done anew."""
        assert self._refused is not None
        before, self._refused = self._refused, None
        self._narrow_until = mark.sequence
        return before

    async def _store(self, window: _Window) -> Exception | None:
        """Return an error instead of raising it: it belongs to whoever waits for the window."""
        try:
            async with self.turn.db.transaction():
                await self._put(_changes(window))
        except ExceptionGroup as failed:
            return failed.exceptions[0]
        except Exception as error:  # noqa: BLE001 - see above
            return error
        return None

    async def _put(self, changes: Iterator[Change]) -> None:
        """Write each change down while the database stores the one before it."""
        applier, (db, table_set) = self.applier, (self.turn.db, self.turn.table_set)
        written = applier.written(next(changes))
        for change in changes:
            async with asyncio.TaskGroup() as both:
                storing = both.create_task(applier.store(db, table_set, written))
                writing = both.create_task(_later(applier.written, change))
            self._check(is_stored=storing.result())
            written = writing.result()
        self._check(is_stored=await applier.store(db, table_set, written))

    def _check(self, *, is_stored: bool) -> None:
        if not is_stored:
            raise self.turn.moved()


async def _later(write: Callable[[Change], _Written], change: Change) -> _Written:
    """Write a change down when it is this task's turn."""
    return write(change)


@asynccontextmanager
async def way_into(turn: Turn) -> AsyncGenerator[Way]:
    """Yield the fastest way into a table set; settle it before its mark counts."""
    if not isinstance(turn.applier, AuthorityApplier):
        yield Narrow(turn)
        return
    known = turn.applier.known
    known.rows_max, known.characters_max = KNOWN_ROWS, KNOWN_CHARACTERS
    try:
        with _no_search_for_garbage():
            async with asyncio.TaskGroup() as group:
                yield Windows(group, turn, turn.applier)
    except ExceptionGroup as failed:
        # The one error of the block; what is being stored hands its own over.
        raise failed.exceptions[0] from None


@contextmanager
def _no_search_for_garbage() -> Generator[None]:
    """Let the collector rest: it would look at every state, and none refers to itself."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _characters(messages: Sequence[Stored]) -> int:
    count = len(messages)
    said = sum(len(message.payload) for message in messages)
    return max(EVENT_CHARACTERS * count, said - ENVELOPE_BYTES * count)


def _changes(window: _Window) -> Iterator[Change]:
    """Yield a window in parts for one transaction; the last one moves the checkpoint."""
    folded = window.folded
    rows = in_order(folded.rows)
    count = max(len(rows), len(folded.quarantined), len(folded.cuts))
    for first in range(0, max(count, 1), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        is_last = first + ROWS_AT_ONCE >= count
        yield Change(
            window.before,
            folded.mark if is_last else window.before,
            rows[part],
            folded.quarantined[part],
            folded.cuts[part],
        )
