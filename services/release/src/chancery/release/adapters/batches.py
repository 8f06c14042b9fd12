"""What many ask for at the same time, asked once: items that come meanwhile share the next batch.

An item never joins a batch that has begun, so that its answer is younger than its question. One
that comes alone does not wait for others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")

ITEMS_MAX: Final = 64


@dataclass(slots=True, eq=False)
class _Asked(Generic[ItemT, AnswerT]):
    """An item that waits; `turn` ends with its answer, or with None: then its owner works."""

    item: ItemT
    turn: asyncio.Future[tuple[AnswerT] | None]

    def settle(self, answer: tuple[AnswerT] | None) -> bool:
        """End the waiting, unless its owner has gone."""
        if self.turn.done():
            return False
        self.turn.set_result(answer)
        return True

    def fail(self, error: Exception) -> None:
        """End the waiting with an error, unless its owner has gone."""
        if not self.turn.done():
            self.turn.set_exception(error)

    @property
    def is_next(self) -> bool:
        """Tell whether the turn to work was given to its owner."""
        is_over = self.turn.done() and not self.turn.cancelled()
        return is_over and self.turn.exception() is None and self.turn.result() is None


@dataclass(slots=True)
class Batches(Generic[ItemT, AnswerT]):
    """Answers items through `work`, which returns one answer per item, `at_once` batches a time.

    Whoever comes first works for those behind; no task is started.
    """

    work: Callable[[Sequence[ItemT]], Awaitable[Sequence[AnswerT]]]
    at_once: int = 1
    items_max: int = ITEMS_MAX
    _waiting: deque[_Asked[ItemT, AnswerT]] = field(default_factory=deque[_Asked[ItemT, AnswerT]])
    _working: int = 0

    async def ask(self, item: ItemT) -> AnswerT:
        """Return the answer of an item.

        Raises:
            Exception: whatever `work` raised for the batch of this item.
        """
        loop = asyncio.get_running_loop()
        asked = _Asked[ItemT, AnswerT](item, loop.create_future())
        self._waiting.append(asked)
        if self._working < self.at_once:
            self._working += 1
            await self._lead(asked)
        answer = await self._turn(asked)
        while answer is None:
            asked.turn = loop.create_future()
            self._waiting.appendleft(asked)
            await self._lead(asked)
            answer = await self._turn(asked)
        return answer[0]

    async def _turn(self, asked: _Asked[ItemT, AnswerT]) -> tuple[AnswerT] | None:
        try:
            return await asked.turn
        except asyncio.CancelledError:
            if asked in self._waiting:
                self._waiting.remove(asked)
            elif asked.is_next:
                self._pass_on()
            raise

    async def _lead(self, asked: _Asked[ItemT, AnswerT]) -> None:
        batch: list[_Asked[ItemT, AnswerT]] = []
        try:
            # Whoever is ready to run now may still come along.
            await asyncio.sleep(0)
            while self._waiting and len(batch) < self.items_max:
                batch.append(self._waiting.popleft())
            await self._answer(batch)
        except BaseException:
            # The leader was cancelled: those who came along go first with the next one. Another
            # leader may have its item, and may have given it a turn to work that it does not take.
            is_next = asked.is_next
            asked.turn.cancel()
            left = [each for each in (*batch, *self._waiting) if each is not asked]
            self._waiting = deque(each for each in left if not each.turn.done())
            if is_next:
                self._pass_on()
            raise
        finally:
            self._pass_on()

    async def _answer(self, batch: Sequence[_Asked[ItemT, AnswerT]]) -> None:
        try:
            answers = await self.work([each.item for each in batch])
        except Exception as error:  # noqa: BLE001 - it is raised where each of them was asked
            for each in batch:
                each.fail(error)
        else:
            for each, answer in zip(batch, answers, strict=True):
                each.settle((answer,))

    def _pass_on(self) -> None:
        """Give the turn to work to the one who waits longest."""
        while self._waiting:
            if self._waiting.popleft().settle(None):
                return
        self._working -= 1
