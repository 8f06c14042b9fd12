"""The AUTHORITY stream behind the port `Log`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import Stored, last_sequence, read_subject
from chancery.bus.publish import Outgoing, Published, publish_atomic
from chancery.events.topology import AUTHORITY


@dataclass(frozen=True, slots=True)
class AuthorityLog:
    """Reads from the stream's leader and appends with expectations on literal subjects."""

    connection: Connection

    def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        """Yield what is stored on `subject` behind `after`."""
        return read_subject(self.connection, AUTHORITY, subject, after)

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        """Append all messages or none."""
        return await publish_atomic(self.connection, AUTHORITY, messages)

    async def position(self) -> int:
        """Return the leader's last sequence."""
        return (await last_sequence(self.connection, AUTHORITY)).last
