"""Following the INDEX stream: every ready revision becomes searchable, every other one is not.

A stretch of the stream is applied as one commit per tenant, together with the position; whatever
arrived meanwhile is the next stretch, so that a lone event is searchable at once and many share a
commit. While one is committed the next is read and cut. Applying the same stretch twice gives the
same index.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from chancery.bus.load import Stored
from chancery.events.codec import decode
from chancery.events.topology import RETRIEVAL_INDEX, consumer
from chancery.kernel.errors import Corrupt, Rejected
from chancery.retrieval.domain.changes import (
    Change,
    IndexEvent,
    TenantChanges,
    changes_by_tenant,
    is_new,
    needed,
)
from chancery.retrieval.domain.entries import Entry, Pin
from chancery.retrieval.domain.mark import Mark, start_from
from chancery.retrieval.errors import IndexBroken
from chancery.retrieval.handlers.loading import Loading
from chancery.retrieval.handlers.turns import Turns, turns
from chancery.retrieval.ports import Checkpoint, IndexLog, SearchIndex
from chancery.runtime.parking import ParkedMessage, Parking, tenant_of

LOADS_AT_ONCE = 16
"""Revisions whose blobs are read at the same time."""

AHEAD_CHARACTERS = 8 * 1024 * 1024
"""What is read ahead of the commit under way, at most this and what is read at the same time."""

FRESHNESS_WAIT_S = 1.0
"""How long a run or a search waits for the index to reach what release has seen."""

MARK_EVERY_S = 5.0
"""How long a busy reader goes on before it leaves a mark; an idle one leaves it at once."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A change with the entries that it puts in; `fault` is why there are none where some ought."""

    change: Change
    entries: tuple[Entry, ...] = ()
    fault: str | None = None

    @property
    def pin(self) -> Pin | None:
        """Return under which pin the revision is to be found, None for not at all."""
        return None if self.fault else self.change.pin


@dataclass(slots=True)
class _Stretch:
    """What a batch changes in one tenant's index; `ahead` is not in the writer yet."""

    tenant: str
    stored: dict[int, Stored]
    ahead: list[_Loaded] = field(default_factory=list[_Loaded])
    is_written: bool = False

    @property
    def characters(self) -> int:
        """Return how much is read and not in the writer yet."""
        return sum(len(entry.text) for one in self.ahead for entry in one.entries)


@dataclass(slots=True)
class Following:
    """The one reader of this process; `position` is how far the indexes have come.

    `reason` says why the indexes are not ready to be searched, None when they are.
    """

    log: IndexLog
    index: SearchIndex
    checkpoint: Checkpoint
    loading: Loading
    parking: Parking
    position: int = 0
    reason: str | None = "starting"
    _target: int = 0
    _created: datetime | None = None
    _marked: int = -1
    _marked_at: float = 0.0
    _broken: str | None = None
    _finishing: bool = False
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        """Follow until `finish` is called.

        Raises:
            Unavailable: stream, blobs or database are away, or an index broke; run again.
        """
        try:
            self._finishing = False
            await self._follow(await self._start())
            await self._leave_mark()
        except IndexBroken as error:
            self.reason = error.detail
            await asyncio.to_thread(self.index.drop, error.tenant)
            raise

    async def reached(self, tenant: str, sequence: int, *, within_s: float) -> int:
        """Wait until the tenant's index holds everything up to `sequence`; return its position.

        Time running out is no error: the position tells.
        """
        try:
            async with asyncio.timeout(within_s), self._moved:
                await self._moved.wait_for(lambda: self.position_of(tenant) >= sequence)
        except TimeoutError:
            pass
        return self.position_of(tenant)

    async def passed(self, position: Callable[[], int]) -> None:
        """Wait until everything up to `position`, which may move on meanwhile, is in the indexes.

        A reader that has not looked at the stream yet has passed nothing.
        """
        async with self._moved:
            await self._moved.wait_for(lambda: self.reason is None and self.position >= position())

    def finish(self) -> None:
        """Have `run` return after what it has at hand."""
        self._finishing = True

    def position_of(self, tenant: str) -> int:
        """Return the sequence up to which the tenant's index holds everything."""
        return max(self.position, self.index.position(tenant))

    def report_broken(self, tenant: str) -> None:
        """Have the tenant's index dropped and built again; a search found it unreadable."""
        self._broken = tenant

    async def _follow(self, after: int) -> None:
        async with aclosing(self.log.read(after)) as batches, turns() as writing:
            async for batch in batches:
                await self._take(batch, writing)
                if self._finishing:
                    return

    async def _start(self) -> int:
        state = await self.log.state()
        mark = await asyncio.to_thread(self.checkpoint.load)
        positions = self.index.positions()
        start = start_from(mark, stream_created=state.created, last=state.last, positions=positions)
        if start.fresh:
            for tenant in positions:
                await asyncio.to_thread(self.index.drop, tenant)
        self._created, self._target = state.created, state.last
        self.position = start.after
        await self._leave_mark()
        await self._announce()
        return start.after

    async def _take(self, batch: list[Stored], writing: Turns) -> None:
        if self._broken is not None:
            tenant, self._broken = self._broken, None
            raise IndexBroken(tenant)
        if not batch:
            if writing.is_idle:
                await self._look_after_files()
                await self._leave_mark()
            return
        stored = {one.sequence: one for one in batch}
        events = [event for one in batch if (event := await self._read(one)) is not None]
        for tenant, changes in changes_by_tenant(events).items():
            await self._apply(changes, _Stretch(tenant, stored), writing)
        writing.take(partial(self._arrive, batch[-1].sequence))

    async def _arrive(self, position: int) -> None:
        self.position = position
        await self._announce()
        if time.monotonic() - self._marked_at > MARK_EVERY_S:
            await self._leave_mark()

    async def _look_after_files(self) -> None:
        """Notice an index whose folder was taken away; what is open of it can be searched still."""
        lost = await asyncio.to_thread(self.index.lost)
        if lost is not None:
            raise IndexBroken(lost)

    async def _read(self, stored: Stored) -> IndexEvent | None:
        try:
            return _index_event(stored)
        except Corrupt as error:
            await self._park(stored, error.code)
            return None

    async def _apply(self, changes: TenantChanges, stretch: _Stretch, writing: Turns) -> None:
        """Load what is new, put it into the writer as soon as that is free, and have it committed.

        What waits for its commit is not known yet: whether a change is late is asked once more
        before it is written.
        """
        tenant = stretch.tenant
        held, known = self.index.position(tenant), self.index.known(tenant)
        unseen = [one for one in changes.by_revision.values() if one.sequence > held]
        coming = [one for one in unseen if is_new(one, known)]
        for begin in range(0, len(coming), LOADS_AT_ONCE):
            stretch.ahead += await self._load_all(tenant, coming[begin : begin + LOADS_AT_ONCE])
            if writing.is_idle or stretch.characters > AHEAD_CHARACTERS:
                await writing.done()
                await self._write(stretch)
        if stretch.ahead:
            await writing.done()
            await self._write(stretch)
        if stretch.is_written:
            last = max(stretch.stored)
            writing.take(lambda: asyncio.to_thread(self.index.commit, tenant, last))

    async def _write(self, stretch: _Stretch) -> None:
        """Put what was loaded into the writer, which nobody else uses now."""
        loaded = {one.change.ref: one for one in stretch.ahead}
        changes = needed((one.change for one in stretch.ahead), self.index.known(stretch.tenant))
        stretch.ahead = []
        taken = [loaded[change.ref] for change in changes]
        for one in taken:
            if one.fault is not None:
                await self._park(stretch.stored[one.change.sequence], one.fault)
        if taken:
            await asyncio.to_thread(self._replace_all, stretch.tenant, taken)
            stretch.is_written = True

    def _replace_all(self, tenant: str, taken: list[_Loaded]) -> None:
        for one in taken:
            as_of = one.change.authority_sequence
            self.index.replace(tenant, one.change.ref, one.pin, one.entries, as_of=as_of)

    async def _load_all(self, tenant: str, changes: list[Change]) -> list[_Loaded]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._load(tenant, one)) for one in changes]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return [task.result() for task in tasks]

    async def _load(self, tenant: str, change: Change) -> _Loaded:
        if change.pin is None:
            return _Loaded(change)
        try:
            return _Loaded(change, await self.loading.entries(tenant, change.pin))
        except (Rejected, Corrupt) as error:
            return _Loaded(change, fault=error.code)

    async def _park(self, stored: Stored, reason: str) -> None:
        own = consumer(RETRIEVAL_INDEX)
        await self.parking.park(
            ParkedMessage(
                stream=own.stream,
                consumer=own.name,
                stored=stored,
                reason=reason,
                attempts=1,
                tenant=tenant_of(stored.subject),
            )
        )

    async def _announce(self) -> None:
        behind = max(0, self._target - self.position)
        self.reason = f"{behind} index events to go" if behind else None
        async with self._moved:
            self._moved.notify_all()

    async def _leave_mark(self) -> None:
        assert self._created is not None, "the stream was looked at before it is read"
        if self.position != self._marked:
            mark = Mark(self._created, self.position, self.index.positions())
            await asyncio.to_thread(self.checkpoint.store, mark)
            self._marked = self.position
        self._marked_at = time.monotonic()


def _index_event(stored: Stored) -> IndexEvent:
    event = decode(stored.payload)
    if event.tenant != tenant_of(stored.subject):
        message = "the event is of another tenant than its subject"
        raise Corrupt(message, code="foreign_tenant")
    return IndexEvent(stored.sequence, event.tenant, event.data)
