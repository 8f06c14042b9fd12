"""Our own reader of a stream: in order, without gaps, and with what has arrived at once.

Two pull requests overlap, so that the server never waits for the next one. Contiguity is judged by
the consumer's own sequence, which grows by one per delivery; stream sequences may have holes
(expired fences). After a gap or a reconnect the consumer is reset behind the last good message.
Another reader's reset starts the consumer's sequence again, somewhere else; so for the first
deliveries after a reset a hole is believed only when the stream itself has nothing there. What was
sent to somebody else and followed by nothing shows in the consumer's heartbeat.
The driver's push "ordered consumer" loses messages without a sign and is not used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from chancery.bus.connection import ApiRefused, Connection
from chancery.bus.headers import event_headers
from chancery.bus.load import MESSAGE_ID_HEADER, Stored, next_message
from chancery.bus.pull import ConsumerLost, Position, PullInbox, parse_position
from chancery.events.topology import Consumer
from chancery.kernel.errors import Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg

BATCH_MESSAGES: Final = 500
IDLE_S: Final = 1.0
EXPIRES_S: Final = 2.0
"""A request outlives its reader by no more: until then a cluster sends messages to nobody."""
RESTARTS_MAX: Final = 5
RESTART_PAUSE_S: Final = 0.3
"""After each restart that brought nothing it waits longer, so that lost requests expire."""
HOLES_CHECKED: Final = 1000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ReaderContended(Unavailable):
    """Deliveries kept missing: another process reads with the same consumer."""

    code = "reader_contended"


class _Reset(BaseModel):
    reset_seq: int = 0


@dataclass(slots=True)
class PullReader:
    """Reads one AckNone durable; `position` was handed over last, `pending` wait behind it.

    One `read` at a time per durable: its deliveries are shared by all who ask.
    """

    connection: Connection
    consumer: Consumer
    batch_messages: int = BATCH_MESSAGES
    idle_s: float = IDLE_S
    position: int = 0
    pending: int = 0
    resets: int = 0

    async def read(self, after: int) -> AsyncGenerator[list[Stored]]:
        """Yield every message above `after` for ever; an empty list at least every `idle_s`.

        Raises:
            Unavailable: the consumer or the connection is gone; start again from your position.
        """
        assert self.consumer.reader
        self.position = after
        fruitless = 0
        while fruitless < RESTARTS_MAX:
            before = self.position
            await asyncio.sleep(RESTART_PAUSE_S * fruitless)
            inbox = await self._restart()
            try:
                async for batch in self._follow(inbox):
                    yield batch
            finally:
                await inbox.close()
            fruitless = fruitless + 1 if self.position == before else 0
        message = f"{self.consumer.name} keeps missing deliveries; is another reader running?"
        raise ReaderContended(message)

    async def _restart(self) -> PullInbox:
        """Reset the durable behind the last good message; a fresh inbox drops what is late."""
        self.resets += 1
        stream, name = self.consumer.stream, self.consumer.name
        try:
            await self.connection.api(
                f"CONSUMER.RESET.{stream}.{name}", {"seq": self.position + 1}, _Reset
            )
        except ApiRefused as error:
            message = f"the consumer {name} of {stream} cannot be reset"
            raise ConsumerLost(message) from error
        inbox = PullInbox(self.connection, stream, name)
        await inbox.open()
        return inbox

    async def _follow(self, inbox: PullInbox) -> AsyncGenerator[list[Stored]]:
        """Yield batches until a gap or a reconnect; then the caller restarts."""
        generation = self.connection.generation
        expected = 1
        while self.connection.generation == generation:
            while inbox.outstanding <= self.batch_messages:
                await inbox.request(self.batch_messages, expires_s=EXPIRES_S)
            await inbox.wait(self.idle_s)
            delivered = [(message, parse_position(message.reply)) for message in inbox.take()]
            sent = inbox.sent
            good = _contiguous(delivered, expected, self.position)
            good = await self._without_false_holes(good)
            if good:
                expected += len(good)
                self.position = good[-1][1].stream_sequence
                self.pending = good[-1][1].pending
            if good or not delivered:
                yield [_stored(message, position) for message, position in good]
            if len(good) < len(delivered) or sent >= expected:
                return

    async def _without_false_holes(
        self, delivered: list[tuple[Msg, Position]]
    ) -> list[tuple[Msg, Position]]:
        """Return the prefix before the first hole that the stream does not have."""
        if not delivered or delivered[0][1].consumer_sequence > HOLES_CHECKED:
            return delivered
        last = self.position
        for count, (_, position) in enumerate(delivered):
            is_hole = position.stream_sequence != last + 1
            is_early = position.consumer_sequence <= HOLES_CHECKED
            if is_hole and is_early and await self._skips(last, position.stream_sequence):
                return delivered[:count]
            last = position.stream_sequence
        return delivered

    async def _skips(self, last: int, following: int) -> bool:
        """Tell whether the stream holds a message for this reader between the two."""
        for subject in self.consumer.subjects:
            found = await next_message(self.connection, self.consumer.stream, subject, last)
            if found is not None and found.sequence < following:
                return True
        return False


def moment_of(position: Position) -> datetime:
    """Return when the message was stored, to the microsecond."""
    return _EPOCH + timedelta(microseconds=position.timestamp_ns // 1000)


def _contiguous(
    delivered: list[tuple[Msg, Position]], expected: int, last: int
) -> list[tuple[Msg, Position]]:
    """Return the prefix whose consumer sequences follow on and whose stream sequences rise."""
    for count, (_, position) in enumerate(delivered):
        if position.consumer_sequence != expected + count or position.stream_sequence <= last:
            return delivered[:count]
        last = position.stream_sequence
    return delivered


def _stored(message: Msg, position: Position) -> Stored:
    headers = message.headers
    return Stored(
        sequence=position.stream_sequence,
        subject=message.subject,
        payload=message.data,
        time=moment_of(position),
        message_id=headers.get(MESSAGE_ID_HEADER) if headers is not None else None,
        headers=event_headers(headers),
    )
