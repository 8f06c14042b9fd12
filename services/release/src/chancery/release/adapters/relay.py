"""Moves sealed events from the outbox to the RELEASES stream: at least once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.bus.connection import Connection as Bus
from chancery.bus.publish import DuplicateMessages, Outgoing, publish_atomic
from chancery.events.topology import RELEASES
from chancery.kernel.errors import Unavailable
from chancery.store.outbox import Outbox, OutboxRow, OutboxStatements
from chancery.store.pool import Pool
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_STATEMENTS = OutboxStatements(
    read=_QUERIES["read_outbox"], mark_published=_QUERIES["mark_published"]
)

POLL_S = 1.0
HORIZON_POLL_S = 0.02
HORIZON_POLLS = 5
BATCH_ROWS = 100


@dataclass(slots=True)
class Relay:
    """One loop; `wake` makes it look now instead of at its next poll."""

    bus: Bus
    pool: Pool
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _awaited: int = 0

    def wake(self) -> None:
        """Say that one more row was committed."""
        self._awaited += 1
        self._woken.set()

    async def run(self) -> None:
        """Publish for ever.

        Raises:
            Unavailable: bus or database are away; run again.
        """
        outbox = Outbox(self.pool, "release", _STATEMENTS)
        while True:
            await self._pause()
            # A committed row stays above the horizon while an older transaction is open.
            for _ in range(HORIZON_POLLS):
                published = await outbox.relay(self._publish, limit=BATCH_ROWS)
                self._awaited = max(0, self._awaited - published)
                if self._awaited == 0 and published < BATCH_ROWS:
                    break
                if published == 0:
                    await asyncio.sleep(HORIZON_POLL_S)
            self._awaited = 0

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(POLL_S):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self._woken.clear()

    async def _publish(self, rows: Sequence[OutboxRow]) -> int:
        messages = [
            Outgoing(subject=row.subject, payload=row.body, message_id=row.event_id) for row in rows
        ]
        try:
            await publish_atomic(self.bus, RELEASES, messages)
        except DuplicateMessages:
            # A part of them was published before a crash: one by one, the server knows those again.
            return await self._publish_one_by_one(messages)
        return len(messages)

    async def _publish_one_by_one(self, messages: Sequence[Outgoing]) -> int:
        published = 0
        try:
            for message in messages:
                await publish_atomic(self.bus, RELEASES, [message])
                published += 1
        except Unavailable:
            if published == 0:
                raise
        return published
