"""Bringing the INDEX subject of a resource up to what its AUTHORITY subject says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chancery.events.envelope import Envelope, Event
from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.standing import Outcome, Revision, Step
from chancery.indexing.errors import LogMoved, NeverDeclared
from chancery.indexing.ports import AuthorityLog, IndexLog, Ledger
from chancery.kernel.clock import Clock

SOURCE = "/chancery/indexing"
"""The CloudEvents source of our events."""

_MOVES_MAX = 5
"""How often another writer may come first before the delivery is tried again later."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The event that made us act, for tracing only."""

    event_id: str
    correlation_id: str | None
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a resource stands after everything that can be said now was said."""

    history: History
    unextracted: tuple[Revision, ...]


@dataclass(frozen=True, slots=True)
class Announcer:
    """Says on INDEX what the logs and the finished extractions amount to.

    Under the page's lock: read AUTHORITY to its end, so that a withdrawal that was acknowledged
    before is known; read what a crash between append and commit made the page forget (also when
    nothing is left to say: what was forgotten may be wrong by now); then append one event after the
    other, each expecting the end of the subject that the page knows. A writer that lost its lock is
    noticed by that expectation; its own delivery, never acknowledged, mends what it still appended.
    """

    ledger: Ledger
    authority: AuthorityLog
    index: IndexLog
    clock: Clock

    async def announce(
        self, ref: ResourceRef, cause: Cause, found: Mapping[int, Outcome]
    ) -> Progress:
        """Append what is missing on the INDEX subject of `ref`; `found` are new outcomes.

        Raises:
            Conflict: when other writers kept coming first.
            Unavailable, Corrupt: as the ports do.
        """
        async with self.ledger.open(ref) as page:
            async for sequence, data in self.authority.read(ref, page.history.sequence):
                page.follow_authority(sequence, data)
            if page.history.state is None:
                message = f"nothing on the log declares {ref.kind} {ref.key!r}"
                raise NeverDeclared(message)
            await self._follow(page)
            page.record_failures(found)
            await self._say_everything(page, cause, found)
            return Progress(page.history, page.unextracted())

    async def _say_everything(self, page: Page, cause: Cause, found: Mapping[int, Outcome]) -> None:
        moves = 0
        while (step := page.next_step(found)) is not None:
            try:
                await self._say(page, cause, step)
            except LogMoved:
                moves += 1
                if moves > _MOVES_MAX:
                    raise
                await self._follow(page)

    async def _say(self, page: Page, cause: Cause, step: Step) -> None:
        envelope = Envelope(
            id=step.event_id,
            source=SOURCE,
            type=step.data.TYPE,
            subject=page.ref.key,
            time=self.clock.now(),
            tenant=page.ref.tenant,
            causationid=cause.event_id,
            correlationid=cause.correlation_id,
            traceparent=cause.traceparent,
        )
        event = Event(envelope=envelope, data=step.data)
        sequence = await self.index.append(page.ref, event, expect_last=page.index_sequence)
        page.follow_index(sequence, step.data)

    async def _follow(self, page: Page) -> None:
        async for sequence, data in self.index.read(page.ref, page.index_sequence):
            page.follow_index(sequence, data)
