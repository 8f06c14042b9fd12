"""The opening of a service: no request is answered before all of them can be.

A subscription that was written to the socket is not yet one that the server knows; what other
services send until then reaches nobody.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from chancery.bus.connection import Connection
from chancery.kernel.errors import Unavailable

SETTLE_S: Final = 5.0
SETTLE_AGAIN_S: Final = 0.5


@dataclass(slots=True)
class Opening:
    """What requests wait for; `reason` says why none are taken, None when they are."""

    reason: str | None = "requests are not taken yet"
    _opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, *connections: Connection) -> None:
        """Let requests in once the server has taken what each connection sent until now."""
        for connection in connections:
            await _settle(connection)
        if not self._opened.is_set():
            self.reason = None
            self._opened.set()

    def close(self) -> None:
        """Be ready for no more; requests that had arrived are answered."""
        self.reason = "requests are taken no longer"
        self._opened.set()

    async def wait(self) -> None:
        """Return when requests may be answered."""
        await self._opened.wait()


async def _settle(connection: Connection) -> None:
    while True:
        try:
            await connection.settle(timeout_s=SETTLE_S)
        except Unavailable:
            await asyncio.sleep(SETTLE_AGAIN_S)
        else:
            return
