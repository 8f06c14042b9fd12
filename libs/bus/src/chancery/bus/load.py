"""Reads of stored messages that the stream's leader answers, so that none is stale."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import AwareDatetime, Base64Bytes, BaseModel

from chancery.bus.connection import ApiRefused, Connection
from chancery.bus.headers import event_headers, parse_headers
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Unavailable

MESSAGE_ID_HEADER: Final = "Nats-Msg-Id"
TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as the stream holds it; `sequence` is its position in the stream.

    `headers` are the attributes of an event in binary mode (`event_headers`), else empty.
    """

    sequence: int
    subject: str
    payload: bytes
    time: datetime
    message_id: str | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a stream begins and ends; `created` differs after it was made again."""

    first: int
    last: int
    created: datetime
    leader: str | None


class _RawMessage(BaseModel):
    subject: str
    seq: int
    data: Base64Bytes = b""
    hdrs: Base64Bytes = b""
    time: AwareDatetime


class _MessageReply(BaseModel):
    message: _RawMessage


class _State(BaseModel):
    first_seq: int = 0
    last_seq: int = 0


class _Cluster(BaseModel):
    leader: str | None = None


class _StreamReply(BaseModel):
    created: AwareDatetime
    state: _State
    cluster: _Cluster | None = None


async def last_message(
    connection: Connection, stream: str, subject: str, *, timeout_s: float = TIMEOUT_S
) -> Stored | None:
    """Return the newest message on `subject`, which may hold wildcards, or None."""
    return await _get(connection, stream, {"last_by_subj": subject}, timeout_s)


async def message_at(
    connection: Connection, stream: str, sequence: int, *, timeout_s: float = TIMEOUT_S
) -> Stored | None:
    """Return the message at `sequence`, or None when it is not there (any more)."""
    return await _get(connection, stream, {"seq": sequence}, timeout_s)


async def next_message(
    connection: Connection,
    stream: str,
    subject: str,
    after: int,
    *,
    timeout_s: float = TIMEOUT_S,
) -> Stored | None:
    """Return the first message on `subject` with a sequence above `after`, or None."""
    return await _get(connection, stream, {"seq": after + 1, "next_by_subj": subject}, timeout_s)


async def read_subject(
    connection: Connection,
    stream: str,
    subject: str,
    after: int = 0,
    *,
    timeout_s: float = TIMEOUT_S,
) -> AsyncGenerator[Stored]:
    """Yield the messages on `subject` with a sequence above `after`, in order, to the end."""
    while True:
        stored = await next_message(connection, stream, subject, after, timeout_s=timeout_s)
        if stored is None:
            return
        assert stored.sequence > after
        yield stored
        after = stored.sequence


async def last_sequence(
    connection: Connection, stream: str, *, timeout_s: float = TIMEOUT_S
) -> StreamState:
    """Return the leader's view of the stream.

    Raises:
        Unavailable: the stream does not exist or its leader does not answer.
    """
    try:
        reply = await connection.api(
            f"STREAM.INFO.{stream}", None, _StreamReply, timeout_s=timeout_s
        )
    except ApiRefused as error:
        message = f"the stream {stream} is not there"
        raise Unavailable(message, code="stream_missing") from error
    return StreamState(
        first=reply.state.first_seq,
        last=reply.state.last_seq,
        created=reply.created,
        leader=reply.cluster.leader if reply.cluster is not None else None,
    )


async def _get(
    connection: Connection, stream: str, body: Mapping[str, Json], timeout_s: float
) -> Stored | None:
    try:
        reply = await connection.api(
            f"STREAM.MSG.GET.{stream}", body, _MessageReply, timeout_s=timeout_s
        )
    except ApiRefused as error:
        if error.is_missing and error.error_code != _STREAM_NOT_FOUND:
            return None
        message = f"the stream {stream} cannot be read"
        raise Unavailable(message, code="stream_unreadable") from error
    raw = reply.message
    headers = parse_headers(raw.hdrs)
    return Stored(
        sequence=raw.seq,
        subject=raw.subject,
        payload=raw.data,
        time=raw.time,
        message_id=_message_id(headers),
        headers=event_headers(headers),
    )


_STREAM_NOT_FOUND: Final = 10059


def _message_id(headers: Mapping[str, str]) -> str | None:
    named = {name.lower(): value for name, value in headers.items()}
    return named.get(MESSAGE_ID_HEADER.lower())
