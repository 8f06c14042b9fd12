"""Bringing the INDEX subjects of resources up to what their AUTHORITY subjects say."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from chancery.events.envelope import Envelope, Event
from chancery.indexing.domain.history import History, ResourceRef
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.standing import Outcome, Revision, Step, Verdict
from chancery.indexing.errors import LogMoved, NeverDeclared
from chancery.indexing.ports import AuthorityLog, Entry, IndexLog, Ledger
from chancery.kernel.clock import Clock
from chancery.kernel.errors import ChanceryError

SOURCE = "/chancery/indexing"
"""The CloudEvents source of our events."""

_MOVES_MAX = 5
"""How often another writer may come first before a group is given up."""


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
    revisions: Mapping[int, Revision] = field(default_factory=dict[int, Revision])


_Group: TypeAlias = "dict[ResourceRef, list[Asking]]"


@dataclass(slots=True, eq=False)
class Asking:
    """One resource to bring up to its log; `found` are new outcomes of its extractions.

    `renewed` are revisions to announce as ready once more, if they are, each with the id of the
    request that wants it; `verdicts` tell of forms whether they are gone. At the end there is
    `progress`, or the `error` that kept it from being made.
    """

    ref: ResourceRef
    cause: Cause
    found: Mapping[int, Outcome]
    renewed: Mapping[int, str] = field(default_factory=dict[int, str])
    verdicts: Sequence[Verdict] = ()
    progress: Progress | None = None
    error: ChanceryError | None = None

    @property
    def is_done(self) -> bool:
        """Tell whether it ended."""
        return self.progress is not None or self.error is not None

    def result(self) -> Progress:
        """Return the progress, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.progress is not None, "it ended"
        return self.progress


@dataclass(frozen=True, slots=True)
class Announcer:
    """Says on INDEX what the logs and the finished extractions amount to, for many resources.

    Under the pages' locks: read AUTHORITY to its end, so that a withdrawal that was acknowledged
    before is known; then append one event after the other of each resource, those of all in one
    batch, each expecting the end of the subject that the page knows. What a crash between append
    and commit made a page forget shows in that expectation; where nothing is left to say, it is
    looked for, since what was forgotten may be wrong by now. A writer that lost its lock is noticed
    in the same way; its own delivery, never acknowledged, mends what it still appended.
    """

    ledger: Ledger
    authority: AuthorityLog
    index: IndexLog
    clock: Clock

    async def announce(self, asked: Sequence[Asking]) -> None:
        """Append what is missing on the INDEX subjects of all that is asked for; all or none.

        Raises:
            Conflict: when other writers kept coming first.
            Unavailable, Corrupt: as the ports do.
        """
        group = _by_resource(asked)
        async with self.ledger.open(group.keys()) as pages:
            await _at_once(self._read(page) for page in pages.values())
            for ref, page in pages.items():
                page.record_failures(_found(group[ref]))
                page.note_lost(each for one in group[ref] for each in one.verdicts)
                page.renew({n: id_ for one in group[ref] for n, id_ in one.renewed.items()})
            await self._say_everything(pages, group)
            made = {ref: _progress(page) for ref, page in pages.items()}
        for one in asked:
            one.progress = made[one.ref]

    async def _read(self, page: Page) -> None:
        async for sequence, data in self.authority.read(page.ref, page.history.sequence):
            page.follow_authority(sequence, data)
        if page.history.state is None:
            message = f"nothing on the log declares {page.ref.kind} {page.ref.key!r}"
            raise NeverDeclared(message)

    async def _say_everything(self, pages: Mapping[ResourceRef, Page], group: _Group) -> None:
        moves, unsure = 0, set(pages)
        while True:
            steps = {
                ref: step
                for ref, page in pages.items()
                if (step := page.next_step(_found(group[ref]))) is not None
            }
            silent = unsure - steps.keys()
            if silent:
                await _at_once(self._follow(pages[ref]) for ref in silent)
                unsure -= silent
            elif not steps:
                return
            elif await self._say(pages, group, steps):
                unsure -= steps.keys()
            else:
                moves += 1
                if moves > _MOVES_MAX:
                    message = "other writers kept coming first on the index subjects"
                    raise LogMoved(message)
                await _at_once(self._follow(pages[ref]) for ref in steps)

    async def _say(
        self,
        pages: Mapping[ResourceRef, Page],
        group: _Group,
        steps: Mapping[ResourceRef, Step],
    ) -> bool:
        """Append the steps; False when a subject moved."""
        entries = [
            Entry(ref, self._event(ref, group[ref][0].cause, step), pages[ref].index_sequence)
            for ref, step in steps.items()
        ]
        try:
            sequences = await self.index.append(entries)
        except LogMoved:
            return False
        for (ref, step), sequence in zip(steps.items(), sequences, strict=True):
            pages[ref].follow_index(sequence, step.data)
        return True

    def _event(self, ref: ResourceRef, cause: Cause, step: Step) -> Event:
        envelope = Envelope(
            id=step.event_id,
            source=SOURCE,
            type=step.data.TYPE,
            subject=ref.key,
            time=self.clock.now(),
            tenant=ref.tenant,
            causationid=cause.event_id,
            correlationid=cause.correlation_id,
            traceparent=cause.traceparent,
        )
        return Event(envelope=envelope, data=step.data)

    async def _follow(self, page: Page) -> None:
        async for sequence, data in self.index.read(page.ref, page.index_sequence):
            page.follow_index(sequence, data)


def _progress(page: Page) -> Progress:
    return Progress(page.history, page.unextracted(), dict(page.revisions))


def _by_resource(asked: Sequence[Asking]) -> _Group:
    group: _Group = {}
    for one in asked:
        group.setdefault(one.ref, []).append(one)
    return group


def _found(asked: Sequence[Asking]) -> Mapping[int, Outcome]:
    """Return the outcomes that several deliveries bring of one resource; the first one counts."""
    return {number: one for each in reversed(asked) for number, one in each.found.items()}


async def _at_once(works: Iterable[Coroutine[None, None, None]]) -> None:
    """Do all of it together; the first error is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
