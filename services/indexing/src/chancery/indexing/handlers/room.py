"""How much of documents is in memory at once: many small ones, or a few large ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

ROOM_BYTES = 64 * 1024 * 1024
"""Of the documents as they were published; their texts and pages come on top."""


@dataclass(slots=True)
class Room:
    """Bytes that are taken and given back, in the order of asking; one document always fits."""

    bytes_max: int = ROOM_BYTES
    _taken: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def taking(self, size_bytes: int) -> AsyncGenerator[None]:
        """Wait until there is room for `size_bytes`, and keep it for the block."""
        async with self._turn:
            while self._taken > 0 and self._taken + size_bytes > self.bytes_max:
                self._freed.clear()
                await self._freed.wait()
            self._taken += size_bytes
        try:
            yield
        finally:
            self._taken -= size_bytes
            self._freed.set()
