"""A folder's documents on their way: sent in batches, then watched until each is ready or failed.

Nothing is kept here between two runs. A repeated run, after Ctrl-C or a crash too, sends the same
documents to the same sources, and the server recognises the content that serves already.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chancery.client.command.absence import Absence, is_away
from chancery.client.command.declaring import Wanted
from chancery.client.command.items import Item, check_item
from chancery.client.command.outcomes import NotIndexed, Published
from chancery.client.command.output import EXIT_UNAVAILABLE, exit_code
from chancery.client.command.reading import read_file
from chancery.client.errors import StillOpen
from chancery.client.replies import BulkPublished, Resource, Status
from chancery.client.workspace import Document, Workspace
from chancery.kernel.errors import ChanceryError, Rejected

BATCH_DOCUMENTS: Final = 100
BATCH_BYTES: Final = 2 * 1024 * 1024
"""A batch is closed by the document that reaches this; JSON makes it larger on the way."""

SINGLE_BYTES: Final = 4 * 1024 * 1024
"""A document of more than this is sent by itself, as it is."""

BATCHES_AT_ONCE: Final = 2
STALLED_S: Final = 120.0
"""How long nothing may become ready or failed before the rest is given up."""

_POLL_S: Final = 0.25
_POLL_S_MAX: Final = 2.0
_LOOKS_SHARE: Final = 10
"""How much longer than a look the pause after it is."""

FEW: Final = 8
"""So many last documents are asked after one by one, whatever else is in the workspace."""


@dataclass(slots=True)
class Bulk:
    """Publishes documents into one workspace; `heard` is told of each as it ends.

    `known` are the sources as they were before, `absence` is what the server may be away.
    """

    workspace: Workspace
    wanted: Wanted
    known: Mapping[str, Resource]
    bytes_max: int
    heard: Callable[[Published], None]
    absence: Absence
    _open: dict[str, tuple[Item, BulkPublished]] = field(
        default_factory=dict[str, "tuple[Item, BulkPublished]"]
    )
    _progressed: float = field(default_factory=time.monotonic)

    async def publish(self, items: Sequence[Item]) -> None:
        """Publish every item and return once each has ended.

        Raises:
            ServerLost: in a group; what has not ended by then is left.
        """
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._send_all(items))
            await self._watch(sending)

    async def _send_all(self, items: Sequence[Item]) -> None:
        slots = asyncio.Semaphore(BATCHES_AT_ONCE)

        async def send(batch: Sequence[tuple[Item, Document]]) -> None:
            try:
                await self._send(batch)
            finally:
                slots.release()

        async with asyncio.TaskGroup() as group:
            async for batch in self._batches(items):
                await slots.acquire()
                group.create_task(send(batch))

    async def _batches(self, items: Sequence[Item]) -> AsyncIterator[list[tuple[Item, Document]]]:
        batch: list[tuple[Item, Document]] = []
        size = 0
        for item in items:
            document = await self._document(item)
            if document is None:
                continue
            batch.append((item, document))
            size += len(document.data)
            if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    async def _document(self, item: Item) -> Document | None:
        """Return what is sent of a file, None when it cannot be."""
        try:
            data = await asyncio.to_thread(read_file, item.path, bytes_max=self.bytes_max)
            await asyncio.to_thread(check_item, item, data)
        except ChanceryError as error:
            self._end(Published(item, {}, error))
            return None
        except OSError as error:
            self._end(Published(item, {}, unreadable(error)))
            return None
        return Document(
            source_id=item.id,
            data=data,
            media_type=item.media_type,
            title=item.title,
            visibility=self.wanted.visibility,
            restore=self.wanted.restore,
        )

    async def _send(self, batch: Sequence[tuple[Item, Document]]) -> None:
        told: Sequence[BulkPublished] | None = None
        while told is None:
            try:
                told = await self.workspace.publish_all([document for _, document in batch])
            except ChanceryError as error:
                if is_away(error):
                    # What arrived all the same is recognised when it comes again.
                    await self.absence.wait("sending", error)
                    continue
                for item, _ in batch:
                    self._end(Published(item, {}, error))
                return
        self.absence.ended("sending")
        for (item, _), published in zip(batch, told, strict=True):
            self._take(item, published)

    def _take(self, item: Item, published: BulkPublished) -> None:
        self._progressed = time.monotonic()
        refusal = published.error
        if refusal is None:
            self._open[item.id] = (item, published)
            return
        error = Rejected(refusal.detail, field=refusal.field, code=refusal.code)
        self._end(Published(item, {}, error))

    async def _watch(self, sending: asyncio.Task[None]) -> None:
        """Look at all sources at once, again and again, the last few by themselves."""
        pause_s = _POLL_S
        while self._open or not sending.done():
            await asyncio.sleep(pause_s)
            before, begun = len(self._open), time.monotonic()
            if self._open:
                await (self._look() if len(self._open) > FEW else self._ask())
            idle_s = _POLL_S if len(self._open) < before else 2 * pause_s
            look_s = time.monotonic() - begun if len(self._open) > FEW else 0.0
            pause_s = pause_after(look_s, idle_s)
            if sending.done() and time.monotonic() - self._progressed > STALLED_S:
                message = "it was published and is still not indexed; ask for its status later"
                self._give_up(StillOpen(message))

    async def _look(self) -> None:
        try:
            found = {each.id: each for each in await self.workspace.sources()}
        except ChanceryError as error:
            if is_away(error):
                self.absence.note("looking", error)
            if exit_code(error) != EXIT_UNAVAILABLE:
                self._give_up(error)
            return
        self.absence.ended("looking")
        for item, published in list(self._open.values()):
            resource = found.get(item.id)
            if _may_have_ended(resource, published) and not await self._settle(
                item, published, resource
            ):
                return

    async def _ask(self) -> None:
        for item, published in list(self._open.values()):
            if not await self._settle(item, published, None):
                return

    async def _settle(
        self, item: Item, published: BulkPublished, resource: Resource | None
    ) -> bool:
        """End a document that has ended; return False when the server is away."""
        assert published.revision is not None, "it was published"
        status = Status(revision=published.revision, state="ready")
        try:
            if not _is_ready(resource, published):
                status = await self.workspace.status(item.id, published.revision)
        except ChanceryError as error:
            if is_away(error):
                self.absence.note("looking", error)
            if exit_code(error) == EXIT_UNAVAILABLE:
                # The others are asked after first the next time.
                self._open[item.id] = self._open.pop(item.id)
                return False
            self._end(Published(item, self._told(published), error))
            return True
        self.absence.ended("looking")
        if status.state != "pending":
            told = {**self._told(published), "state": status.state}
            self._end(Published(item, told, not_indexed(item.id, status)))
        return True

    def _told(self, published: BulkPublished) -> dict[str, str | int | bool | None]:
        told: dict[str, str | int | bool | None] = {
            "source": published.source,
            "revision": published.revision,
            "state": "pending",
            "changed": published.changed,
            "visibility": published.visibility,
        }
        before = self.known.get(published.source)
        if before is not None and before.visibility != published.visibility:
            told["visibility_before"] = before.visibility
        return told

    def _give_up(self, error: ChanceryError) -> None:
        for item, published in list(self._open.values()):
            self._end(Published(item, self._told(published), error))

    def _end(self, outcome: Published) -> None:
        self._open.pop(outcome.item.id, None)
        self._progressed = time.monotonic()
        self.heard(outcome)


def pause_after(look_s: float, idle_s: float) -> float:
    """Return how long to wait after a look that took `look_s`, `idle_s` at least.

    Listing thousands of sources is work for the server that has to make them ready.
    """
    return min(max(idle_s, _LOOKS_SHARE * look_s), _POLL_S_MAX)


def _may_have_ended(resource: Resource | None, published: BulkPublished) -> bool:
    """Tell whether a closer look is worth it; a source that is gone or went on has ended too."""
    if resource is None or published.revision is None or resource.revision > published.revision:
        return True
    return resource.revision == published.revision and resource.state not in {None, "pending"}


def _is_ready(resource: Resource | None, published: BulkPublished) -> bool:
    if resource is None:
        return False
    return (resource.revision, resource.state) == (published.revision, "ready")


def unreadable(error: OSError) -> Rejected:
    """Return the refusal of a file that cannot be read."""
    return Rejected((error.strerror or "it cannot be read").lower(), code="not_readable")


def not_indexed(source_id: str, status: Status) -> NotIndexed | None:
    """Return why nothing can be answered from a revision, None when something can."""
    if status.state == "ready":
        return None
    reason = status.reason or status.state
    message = f"revision {status.revision} of {source_id} cannot be asked about: {reason}"
    return NotIndexed(message)
