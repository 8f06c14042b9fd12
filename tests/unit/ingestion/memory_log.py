"""A log in memory that keeps the rules of the real one: both pass one contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from chancery.bus.load import Stored
from chancery.bus.publish import DuplicateMessages, Outgoing, Published, WrongSequence
from tests.unit.ingestion.moments import NOW


@dataclass(slots=True)
class MemoryLog:
    """Holds messages in order; `failures` are raised by the next appends, which store nothing."""

    messages: list[Stored] = field(default_factory=list[Stored])
    failures: list[Exception] = field(default_factory=list[Exception])
    reads: int = 0

    async def read(self, subject: str, after: int) -> AsyncIterator[Stored]:
        """Yield what is on the subject behind `after`."""
        self.reads += 1
        for stored in list(self.messages):
            if stored.subject == subject and stored.sequence > after:
                yield stored

    async def append(self, messages: Sequence[Outgoing]) -> tuple[Published, ...]:
        """Append all messages or none."""
        if self.failures:
            raise self.failures.pop(0)
        for message in messages:
            last = max(
                (s.sequence for s in self.messages if s.subject == message.subject), default=0
            )
            if message.expect_last is not None and message.expect_last != last:
                raise WrongSequence(last=last)
        return tuple([self._store(message) for message in self._fresh(messages)])

    async def position(self) -> int:
        """Return the last sequence."""
        return len(self.messages)

    def _fresh(self, messages: Sequence[Outgoing]) -> Sequence[Outgoing]:
        known = {stored.message_id for stored in self.messages}
        if len(messages) > 1 and any(message.message_id in known for message in messages):
            raise DuplicateMessages
        return messages

    def _store(self, message: Outgoing) -> Published:
        for stored in self.messages:
            if stored.message_id == message.message_id:
                return Published(sequence=stored.sequence, duplicate=True)
        sequence = len(self.messages) + 1
        self.messages.append(
            Stored(sequence, message.subject, message.payload, NOW, message.message_id)
        )
        return Published(sequence=sequence, duplicate=False)
