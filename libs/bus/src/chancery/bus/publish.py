"""Acknowledged publishing: single conditional appends and atomic batches of up to a thousand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from chancery.bus.connection import ApiRefused, Connection, parse_reply, translate_errors
from chancery.bus.load import MESSAGE_ID_HEADER, Stored, read_subject
from chancery.events.codec import encode
from chancery.events.envelope import Event
from chancery.kernel.errors import Conflict, Unavailable
from chancery.kernel.ids import random_id

TIMEOUT_S: Final = 5.0
BATCH_MESSAGES_MAX: Final = 1000

_WRONG_SEQUENCE: Final = 10071
_IN_FLIGHT: Final = 10164
_DUPLICATE_IN_BATCH: Final = 10201
_LAST = re.compile(r"(\d+)\s*$")


class WrongSequence(Conflict):
    """The subject moved since it was read; `last` is its newest sequence when the server says."""

    code = "wrong_sequence"

    def __init__(self, *, last: int | None) -> None:
        """Keep the sequence that the server named."""
        super().__init__("another writer appended first; read again")
        self.last = last


class InFlight(Conflict):
    """Another write to the same subject is on its way; retry after a few milliseconds."""

    code = "write_in_flight"

    def __init__(self) -> None:
        """Say what to do; the server names no sequence."""
        super().__init__("another write to this subject is in flight; retry in a moment")


class DuplicateMessages(Conflict):
    """Some of the batch's message ids were stored before, others were not; nothing was stored."""

    code = "duplicate_messages"

    def __init__(self) -> None:
        """Say what is wrong with the batch."""
        super().__init__("the batch repeats message ids of an earlier one")


@dataclass(frozen=True, slots=True)
class Published:
    """Where a message is; `duplicate` says that it was there before this call."""

    sequence: int
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to append; `expect_last` is the sequence its literal subject must have now.

    0 expects a subject without messages, None expects nothing. `ttl_s` needs a stream that allows
    it (fences).
    """

    subject: str
    payload: bytes
    message_id: str
    expect_last: int | None = None
    ttl_s: int | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for this append; few, since each costs every reader."""
        found = {MESSAGE_ID_HEADER: self.message_id}
        if self.expect_last is not None:
            found["Nats-Expected-Last-Subject-Sequence"] = str(self.expect_last)
        if self.ttl_s is not None:
            found["Nats-TTL"] = f"{self.ttl_s}s"
        return found


class _Ack(BaseModel):
    stream: str
    seq: int
    duplicate: bool = False
    count: int = 1


async def publish(
    connection: Connection,
    subject: str,
    event: Event,
    *,
    timeout_s: float = TIMEOUT_S,
    expect_last: int | None = None,
    ttl_s: int | None = None,
) -> Published:
    """Append `event`, with its id as the message id, and return once it is stored.

    Raises:
        WrongSequence: `expect_last` is not the subject's newest sequence.
        InFlight: a racing write to the subject.
        Unavailable: no acknowledgement in time; whether it was stored is then unknown.
    """
    outgoing = Outgoing(
        subject=subject,
        payload=encode(event),
        message_id=event.id,
        expect_last=expect_last,
        ttl_s=ttl_s,
    )
    return await publish_message(connection, outgoing, timeout_s=timeout_s)


async def publish_message(
    connection: Connection, outgoing: Outgoing, *, timeout_s: float = TIMEOUT_S
) -> Published:
    """Append bytes that are encoded already; otherwise like `publish`."""
    reply = await connection.request(
        outgoing.subject, outgoing.payload, timeout_s=timeout_s, headers=outgoing.headers()
    )
    try:
        ack = parse_reply(reply.data, _Ack)
    except ApiRefused as error:
        raise _refusal(error) from error
    connection.published += 1
    return Published(sequence=ack.seq, duplicate=ack.duplicate)


async def publish_atomic(
    connection: Connection,
    stream: str,
    messages: Sequence[Outgoing],
    *,
    timeout_s: float = 10.0,
) -> tuple[Published, ...]:
    """Append all of `messages` to `stream` or none, and return their positions in order.

    Each expectation is judged against the state before the batch. A batch that was stored before
    (its acknowledgement was lost) returns where it is.

    Raises:
        WrongSequence, InFlight: as for `publish`; nothing was stored.
        DuplicateMessages: only a part of the batch was stored before.
        Unavailable: no acknowledgement in time; send the same messages again to learn the outcome.
    """
    assert 1 <= len(messages) <= BATCH_MESSAGES_MAX
    if len(messages) == 1:
        return (await publish_message(connection, messages[0], timeout_s=timeout_s),)
    try:
        ack = await _send_batch(connection, messages, timeout_s)
    except ApiRefused as error:
        if error.error_code != _DUPLICATE_IN_BATCH:
            raise _refusal(error) from error
        return await _read_back(connection, stream, messages)
    connection.published += len(messages)
    first = ack.seq - len(messages) + 1
    return tuple(
        Published(sequence=first + offset, duplicate=False) for offset in range(len(messages))
    )


async def _send_batch(
    connection: Connection, messages: Sequence[Outgoing], timeout_s: float
) -> _Ack:
    batch_id = random_id()
    for position, message in enumerate(messages[:-1], start=1):
        headers = message.headers() | _batch_headers(batch_id, position)
        with translate_errors():
            await connection.client.publish(message.subject, message.payload, headers=headers)
    last = messages[-1]
    headers = last.headers() | _batch_headers(batch_id, len(messages)) | {"Nats-Batch-Commit": "1"}
    reply = await connection.request(
        last.subject, last.payload, timeout_s=timeout_s, headers=headers
    )
    ack = parse_reply(reply.data, _Ack)
    assert ack.count == len(messages)
    return ack


def _batch_headers(batch_id: str, position: int) -> dict[str, str]:
    return {"Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(position)}


async def _read_back(
    connection: Connection, stream: str, messages: Sequence[Outgoing]
) -> tuple[Published, ...]:
    """Find each message by its id behind the sequence it expected on its subject."""
    found: list[Published] = []
    for message in messages:
        stored = await _find(connection, stream, message)
        if stored is None:
            raise DuplicateMessages
        found.append(Published(sequence=stored.sequence, duplicate=True))
    return tuple(found)


async def _find(connection: Connection, stream: str, message: Outgoing) -> Stored | None:
    after = message.expect_last if message.expect_last is not None else 0
    async for stored in read_subject(connection, stream, message.subject, after):
        if stored.message_id == message.message_id:
            return stored
    return None


def _refusal(error: ApiRefused) -> Conflict | Unavailable:
    if error.error_code == _WRONG_SEQUENCE:
        match = _LAST.search(error.detail)
        return WrongSequence(last=int(match.group(1)) if match is not None else None)
    if error.error_code == _IN_FLIGHT:
        return InFlight()
    message = f"the stream refused the message (NATS error {error.error_code})"
    return Unavailable(message, code="append_refused")
