"""An HTTP server inside the service's own loop: it binds first, so a busy port is one sentence."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import uvicorn

from chancery.kernel.errors import Unavailable
from chancery.runtime.health import Application

BACKLOG: Final = 512
CLOSE_TIMEOUT_S: Final = 5
CLOSING_POLL_S: Final = 0.01


class PortInUse(Unavailable):
    """The address is taken or not ours."""

    code = "port_in_use"


class _Server(uvicorn.Server):
    """Leaves signals to the service, and ends when it is told to.

    Uvicorn's own looks ten times a second whether it is to end, and closes for at least as long.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        """Prepare; `serve` runs until `leave`."""
        super().__init__(config)
        self._left = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture nothing."""
        yield

    def leave(self) -> None:
        """Take no further connection and end."""
        self.should_exit = True
        self._left.set()

    async def main_loop(self) -> None:
        """Wait for `leave`: what a tick does is the same each time without dates and limits."""
        await self.on_tick(0)
        await self._left.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and let open requests finish within their time."""
        for closing in (*self.servers, *(sockets or ())):
            closing.close()
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await self._finish()
        except TimeoutError:
            for task in tuple(self.server_state.tasks):
                task.cancel()

    async def _finish(self) -> None:
        state, is_busy = self.server_state, True
        while is_busy:
            # What was accepted a moment ago gets to be a connection meanwhile.
            await asyncio.sleep(CLOSING_POLL_S)
            is_busy = bool(state.connections or state.tasks)
        for server in self.servers:
            await server.wait_closed()


@asynccontextmanager
async def serving(
    application: Application,
    *,
    host: str,
    port: int,
    port_file: Path | None = None,
    close_timeout_s: int = CLOSE_TIMEOUT_S,
) -> AsyncGenerator[int]:
    """Serve `application` within the block and yield the port, which `port_file` gets too.

    At the end open requests may finish for `close_timeout_s`.

    Raises:
        PortInUse: when the address cannot be bound.
    """
    with bound_socket(host, port) as listener:
        chosen = int(listener.getsockname()[1])
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=close_timeout_s,
        )
        server = _Server(config)
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(_serve(server, listener, ended))
            if port_file is not None:
                _write(port_file, chosen)
            try:
                yield chosen
            finally:
                # A cancelled block must not cancel the server: open requests finish first.
                server.leave()
                await ended.wait()


async def _serve(server: uvicorn.Server, listener: socket.socket, ended: asyncio.Event) -> None:
    try:
        await server.serve(sockets=[listener])
    finally:
        ended.set()


@contextmanager
def bound_socket(host: str, port: int) -> Generator[socket.socket]:
    """Yield a listening socket on `host` and `port`, 0 for any free one.

    Raises:
        PortInUse: when the address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only where the protocol is named: 40 ms a reply otherwise.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(BACKLOG)
        except OSError as error:
            message = f"port {port} on {host} cannot be opened: {error.strerror}"
            raise PortInUse(message) from error
        listener.settimeout(0)
        yield listener


def _write(path: Path, port: int) -> None:
    """Write the file whole, so that a reader never sees half a number."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(f"{port}\n", encoding="ascii")
    draft.replace(path)
