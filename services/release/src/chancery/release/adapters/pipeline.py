"""Folds a batch of the authority log while the one before it is being stored.

For rebuilds, where the whole log is there: the processor folds while the database writes. A batch
that the database refuses is done again in order, message by message where it has to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from chancery.bus.load import Stored
from chancery.release.adapters.authority_rows import AuthorityApplier, Prepared
from chancery.release.adapters.projector import Turn
from chancery.release.adapters.refusals import REFUSED
from chancery.release.domain.marks import Mark
from chancery.release.errors import NotTheWriter


@dataclass(frozen=True, slots=True)
class _Storing:
    """A batch on its way, with what it takes to do it again."""

    task: asyncio.Task[Mark | Exception | None]
    before: Mark
    messages: Sequence[Stored]


@dataclass(slots=True)
class Pipeline:
    """One batch is stored at a time; call `settle` before the mark counts."""

    group: asyncio.TaskGroup
    turn: Turn
    applier: AuthorityApplier
    _storing: _Storing | None = None

    async def apply(self, mark: Mark, messages: Sequence[Stored]) -> Mark:
        """Fold a batch, begin to store it, and return the mark that will be behind it.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        if self.applier.misses(mark, messages):
            await self.settle()
            await self.applier.recall(self.turn.db, self.turn.table_set, mark, messages)
        prepared = self.applier.prepare(mark, messages)
        if not await self.settle():
            # It was folded on rows that were not stored as they were folded.
            return await self.turn.apply(mark, messages)
        task = self.group.create_task(self._store(prepared))
        self._storing = _Storing(task, mark, messages)
        # The statement is sent before the next batch is folded.
        await asyncio.sleep(0)
        return prepared.folded.mark

    async def settle(self) -> bool:
        """Wait until what was begun is stored; tell whether it was stored as it was folded.

        Raises:
            NotTheWriter: another process moved the checkpoint.
        """
        storing, self._storing = self._storing, None
        if storing is None:
            return True
        outcome = await storing.task
        if isinstance(outcome, REFUSED):
            await self.turn.apply(storing.before, storing.messages)
            return False
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            message = f"another process moved the checkpoint of {self.turn.projection}"
            raise NotTheWriter(message)
        return True

    async def _store(self, prepared: Prepared) -> Mark | Exception | None:
        """Return an error instead of raising it: it belongs to whoever settles."""
        try:
            return await self.applier.store(self.turn.db, self.turn.table_set, prepared)
        except Exception as error:  # noqa: BLE001 - see above
            return error
