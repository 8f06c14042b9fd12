"""A wire to NATS that can keep back what a client sends, from a chosen word on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

_PIECE_BYTES = 65536


@dataclass
class Wire:
    """Hands on whatever is sent; a connection that sends `word` is held from there until `free`."""

    host: str
    port: int
    word: bytes
    held: asyncio.Event = field(default_factory=asyncio.Event)
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect one client to the server."""
        server_reader, server_writer = await asyncio.open_connection(self.host, self.port)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send(reader, server_writer))
            group.create_task(_hand_on(server_reader, writer))

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                before, word, after = piece.partition(self.word)
                writer.write(before)
                if word:
                    self.held.set()
                    await self.free.wait()
                writer.write(word + after)
                await writer.drain()
        writer.close()


async def _hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def wired(url: str, word: bytes) -> AsyncGenerator[tuple[str, Wire]]:
    """Yield a URL that leads to the server at `url` over a wire, and the wire."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    wire = Wire(parts.hostname, parts.port, word)
    server = await asyncio.start_server(wire.join, "127.0.0.1", 0)
    login, _, _ = parts.netloc.rpartition("@")
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    netloc = f"{login}@{address}" if login else address
    try:
        yield urlunsplit(parts._replace(netloc=netloc)), wire
    finally:
        wire.free.set()
        server.close()
        await server.wait_closed()
