"""AUTHORITY and INDEX as indexing reads and writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import read_subject
from chancery.bus.publish import WrongSequence, publish
from chancery.events.codec import decode
from chancery.events.envelope import Event, EventData
from chancery.events.topology import AUTHORITY, INDEX, authority_subject, index_subject
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.errors import LogMoved, UnreadableHistory
from chancery.kernel.errors import Corrupt


@dataclass(frozen=True, slots=True)
class StreamAuthority:
    """The `AuthorityLog` over JetStream."""

    connection: Connection

    async def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        """Yield the resource's events above `after`; see `AuthorityLog.read`."""
        subject = authority_subject(ref.tenant, ref.kind, ref.key)
        async for found in _read(self.connection, AUTHORITY, subject, after):
            yield found


@dataclass(frozen=True, slots=True)
class StreamIndex:
    """The `IndexLog` over JetStream."""

    connection: Connection

    async def append(self, ref: ResourceRef, event: Event, *, expect_last: int) -> int:
        """Append under an expectation; see `IndexLog.append`."""
        subject = index_subject(ref.tenant, ref.kind, ref.key)
        try:
            published = await publish(self.connection, subject, event, expect_last=expect_last)
        except WrongSequence as error:
            message = f"the index subject of {ref.kind} {ref.key!r} moved"
            raise LogMoved(message) from error
        if published.duplicate:
            message = f"the index subject of {ref.kind} {ref.key!r} holds this event already"
            raise LogMoved(message)
        return published.sequence

    async def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        """Yield the resource's index events above `after`; see `IndexLog.read`."""
        subject = index_subject(ref.tenant, ref.kind, ref.key)
        async for found in _read(self.connection, INDEX, subject, after):
            yield found


async def _read(
    connection: Connection, stream: str, subject: str, after: int
) -> AsyncGenerator[tuple[int, EventData]]:
    async for stored in read_subject(connection, stream, subject, after):
        try:
            data = decode(stored.payload).data
        except Corrupt as error:
            message = f"{stream} holds an event at {stored.sequence} that this build cannot read"
            raise UnreadableHistory(message) from error
        yield stored.sequence, data
