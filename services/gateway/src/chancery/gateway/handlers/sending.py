"""A text on its way to its reader, who may be slow: a long one waits in a file, not in memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chancery.events.requests import Caller
from chancery.gateway.handlers.edge import Edge
from chancery.runtime.logging import get_logger
from chancery.store.spool import SPOOL_BUFFER_BYTES, Spool

PIECE_BYTES: Final = 64 * 1024
PIECE_WITHIN_S: Final = 30.0
"""Who takes longer for a piece gets no more: a turn is not for ever."""

_log = get_logger("chancery.gateway")


class SentText(Response):
    """A text that is loaded when its turn comes, and sent as fast as its reader takes it."""

    media_type = "text/plain"

    def __init__(
        self,
        edge: Edge,
        caller: Caller,
        load: Callable[[], Awaitable[bytes]],
        *,
        piece_within_s: float = PIECE_WITHIN_S,
    ) -> None:
        """Load nothing yet; what `load` raises is told as if the route had raised it."""
        super().__init__()
        del self.headers["content-length"]
        self._edge, self._caller, self._load = edge, caller, load
        self._piece_within_s = piece_within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the text."""
        del scope, receive
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._edge.sending.turn(self._caller))
            async with self._loaded() as spool:
                if spool.size < SPOOL_BUFFER_BYTES:
                    await turn.aclose()
                await self._send(spool, send)

    @asynccontextmanager
    async def _loaded(self) -> AsyncGenerator[Spool]:
        """Yield the text, of which at most a buffer is in memory."""
        spool = Spool()
        try:
            async with self._edge.texts.turn(self._caller):
                await _fill(spool, await self._load())
            yield spool
        finally:
            await spool.close()

    async def _send(self, spool: Spool, send: Send) -> None:
        self.headers["content-length"] = str(spool.size)
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        try:
            async for piece, is_last in _pieces(spool):
                async with asyncio.timeout(self._piece_within_s):
                    body = {"type": "http.response.body", "body": piece, "more_body": not is_last}
                    await send(body)
        except TimeoutError:
            _log.info("a reader of a text was too slow")


async def _fill(spool: Spool, text: bytes) -> None:
    left = memoryview(text)
    while left:
        await spool.write(bytes(left[:PIECE_BYTES]))
        left = left[PIECE_BYTES:]


async def _pieces(spool: Spool) -> AsyncGenerator[tuple[bytes, bool]]:
    if spool.size < SPOOL_BUFFER_BYTES:
        yield await spool.read(), True
        return
    descriptor = (await spool.file()).fileno()
    for place in range(0, spool.size, PIECE_BYTES):
        piece = await asyncio.to_thread(os.pread, descriptor, PIECE_BYTES, place)
        yield piece, place + PIECE_BYTES >= spool.size
