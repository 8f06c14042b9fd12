"""INDEX and RUNS as retrieval reads and writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import Stored, StreamState, last_message, last_sequence
from chancery.bus.publish import publish
from chancery.bus.reader import PullReader
from chancery.events.envelope import Envelope, Event
from chancery.events.topology import INDEX, RUNS, Consumer, run_subject


@dataclass(frozen=True, slots=True)
class StreamIndexLog:
    """The `IndexLog` over a provisioned reader."""

    connection: Connection
    consumer: Consumer

    async def state(self) -> StreamState:
        """Return the stream's state; see `IndexLog.state`."""
        return await last_sequence(self.connection, INDEX)

    async def read(self, after: int) -> AsyncGenerator[list[Stored]]:
        """Yield what arrives; see `IndexLog.read`."""
        reader = PullReader(self.connection, self.consumer)
        async for batch in reader.read(after):
            yield batch


@dataclass(frozen=True, slots=True)
class StreamRunLog:
    """The `RunLog` over JetStream."""

    connection: Connection

    async def append(self, run_id: str, event: Event) -> None:
        """Append once; see `RunLog.append`."""
        subject = run_subject(event.tenant, run_id, "gathered")
        await publish(self.connection, subject, event)

    async def has(self, run_id: str, envelope: Envelope) -> bool:
        """Look for an earlier attempt's event; see `RunLog.has`."""
        subject = run_subject(envelope.tenant, run_id, "gathered")
        stored = await last_message(self.connection, RUNS, subject)
        return stored is not None and stored.message_id == envelope.id
