"""AUTHORITY and INDEX as indexing reads and writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import read_subject
from chancery.bus.publish import DuplicateMessages, Outgoing, WrongSequence, publish_atomic
from chancery.events.codec import decode, encode
from chancery.events.envelope import EventData
from chancery.events.topology import AUTHORITY, INDEX, authority_subject, index_subject
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.errors import LogMoved, UnreadableHistory
from chancery.indexing.ports import Entry
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

    async def append(self, entries: Sequence[Entry]) -> tuple[int, ...]:
        """Append under expectations; see `IndexLog.append`."""
        messages = [_outgoing(entry) for entry in entries]
        try:
            published = await publish_atomic(self.connection, INDEX, messages)
        except (WrongSequence, DuplicateMessages) as error:
            raise _moved() from error
        if any(place.duplicate for place in published):
            raise _moved()
        return tuple(place.sequence for place in published)

    async def read(self, ref: ResourceRef, after: int) -> AsyncGenerator[tuple[int, EventData]]:
        """Yield the resource's index events above `after`; see `IndexLog.read`."""
        subject = index_subject(ref.tenant, ref.kind, ref.key)
        async for found in _read(self.connection, INDEX, subject, after):
            yield found


def _outgoing(entry: Entry) -> Outgoing:
    return Outgoing(
        subject=index_subject(entry.ref.tenant, entry.ref.kind, entry.ref.key),
        payload=encode(entry.event),
        message_id=entry.event.id,
        expect_last=entry.expect_last,
    )


def _moved() -> LogMoved:
    message = "an index subject moved, or holds its event already"
    return LogMoved(message)


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
