"""Subjects of the log that an examination needs again and again, each message read once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

from chancery.bus.load import Stored
from chancery.release.ports.fsck import Logs

KEPT_BYTES_MAX: Final = 32 * 1024 * 1024

MESSAGE_BYTES: Final = 1_000
"""What a kept message takes beside its payload, about."""

_Place = tuple[str, str]
"""A stream and a subject of it."""


@dataclass(slots=True)
class _Kept:
    """The first messages of a subject, without a gap; no more fit once it `is_full`."""

    messages: list[Stored] = field(default_factory=list[Stored], repr=False)
    size_bytes: int = 0
    is_full: bool = False


class ReadOnce:
    """Yields subjects from memory as far as they were read, then goes on on the stream.

    So a message is read once while what is kept fits into `bytes_max`, and what was stored in the
    meantime is not missed. Beyond that, the subject that was needed longest ago is forgotten, and
    of one that is larger by itself only the first messages are kept.
    """

    def __init__(self, logs: Logs, *, bytes_max: int = KEPT_BYTES_MAX) -> None:
        """Begin with nothing."""
        self._logs = logs
        self._bytes_max = bytes_max
        self._kept = OrderedDict[_Place, _Kept]()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return what is kept."""
        return self._size_bytes

    async def subject(self, stream: str, subject: str) -> AsyncGenerator[Stored]:
        """Yield the messages on a subject, in order, to its end."""
        place, last = (stream, subject), 0
        kept = self._kept.setdefault(place, _Kept())
        self._kept.move_to_end(place)
        for message in tuple(kept.messages):
            last = message.sequence
            yield message
        async for message in self._logs.subject(stream, subject, last):
            self._keep(place, kept, message)
            yield message

    def _keep(self, place: _Place, kept: _Kept, message: Stored) -> None:
        if kept.is_full or self._kept.get(place) is not kept:
            return
        size_bytes = len(message.payload) + MESSAGE_BYTES
        while self._size_bytes + size_bytes > self._bytes_max:
            oldest = next(iter(self._kept))
            if oldest == place:
                kept.is_full = True
                return
            self._size_bytes -= self._kept.pop(oldest).size_bytes
        kept.messages.append(message)
        kept.size_bytes += size_bytes
        self._size_bytes += size_bytes
