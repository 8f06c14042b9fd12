"""Which blobs the log names: every hash that stands in any event of any stream, whatever it means.

Whoever asks may delete what is not named, so a stream counts only when all of it was read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from chancery.bus.connection import Connection
from chancery.bus.load import Stored, StreamState, last_sequence, message_at
from chancery.events.topology import AUTHORITY, STREAMS
from chancery.events.topology_rows import Stream
from chancery.kernel.errors import Unavailable
from chancery.store.blobs import upload_place

READS_AT_ONCE: Final = 64
_HASH: Final = re.compile(rb"(?=([0-9a-f]{64}))")
"""Found wherever it begins, inside a longer number too."""

Tell = Callable[[str, int, int], None]
"""Called with what is read, how far it is, and how far it goes."""


class LogIncomplete(Unavailable):
    """A stream could not be read from its beginning to its end."""

    code = "log_incomplete"


class Streams(Protocol):
    """The streams of the log; both methods raise `Unavailable`."""

    async def state(self, stream: str) -> StreamState:
        """Return where a stream begins and ends."""
        ...

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return a message, or None when there is none at this place."""
        ...


@dataclass(frozen=True, slots=True)
class BusStreams:
    """The `Streams` of a bus, read as its operator."""

    bus: Connection

    async def state(self, stream: str) -> StreamState:
        """Return the state; see `Streams.state`."""
        return await last_sequence(self.bus, stream)

    async def at(self, stream: str, sequence: int) -> Stored | None:
        """Return the message; see `Streams.at`."""
        return await message_at(self.bus, stream, sequence)


@dataclass(slots=True)
class Named:
    """What was read of the log: hashes, tenants that it knows, and where their principals upload.

    `upto` is how far each stream was read.
    """

    hashes: set[str] = field(default_factory=set[str])
    tenants: set[str] = field(default_factory=set[str])
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    upto: dict[str, StreamState] = field(default_factory=dict[str, StreamState])

    def take(self, stored: Stored) -> None:
        """Take in one message."""
        self.hashes.update(hashes_in(stored.payload))
        match stored.subject.split("."):
            case ["authority", tenant, kind, name]:
                self.tenants.add(tenant)
                if kind == "principal":
                    self.places.add((tenant, upload_place(name)))
            case _:
                return


def hashes_in(data: bytes) -> Iterator[str]:
    """Yield whatever looks like a hash in `data`."""
    return (found.decode() for found in _HASH.findall(data))


async def read_on(streams: Streams, named: Named, tell: Tell) -> None:
    """Read every stream from where `named` ends to where the stream ends now.

    Raises:
        LogIncomplete: one lacks something, or is not the one that was read before.
        Unavailable: one cannot be read.
    """
    for stream in STREAMS:
        state = await streams.state(stream.name)
        before = named.upto.get(stream.name)
        _check(stream, state, before)
        begin = max(state.first, 1) if before is None else before.last + 1
        for first in range(begin, state.last + 1, READS_AT_ONCE):
            some = range(first, min(first + READS_AT_ONCE, state.last + 1))
            for stored in await _stretch(streams, stream, some):
                named.take(stored)
            tell(stream.name, some[-1], state.last)
        named.upto[stream.name] = state


async def _stretch(streams: Streams, stream: Stream, sequences: range) -> list[Stored]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(streams.at(stream.name, number)) for number in sequences]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    found = [stored for task in tasks if (stored := task.result()) is not None]
    if len(found) < len(tasks) and not _may_lack(stream):
        reason = f"it has a hole between the sequences {sequences[0]} and {sequences[-1]}"
        raise _incomplete(stream, reason)
    return found


def _check(stream: Stream, state: StreamState, before: StreamState | None) -> None:
    if before is not None and (state.created != before.created or state.last < before.last):
        raise _incomplete(stream, "it was made again or shortened")
    if state.first > 1 and not _may_lack(stream):
        raise _incomplete(stream, f"it begins at sequence {state.first}")
    if stream.name == AUTHORITY and state.last == 0:
        raise _incomplete(stream, "it is empty")


def _may_lack(stream: Stream) -> bool:
    """Tell whether messages end by themselves: fences, and what has an age limit."""
    return stream.allow_msg_ttl or not stream.append_only


def _incomplete(stream: Stream, reason: str) -> LogIncomplete:
    return LogIncomplete(f"the stream {stream.name} cannot be read whole: {reason}")
