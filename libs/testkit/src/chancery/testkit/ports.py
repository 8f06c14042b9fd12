"""A port that nobody gets by chance while a test waits to use it."""

from __future__ import annotations

import atexit
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReservedPort:
    """A port of the loopback address; a server may open it until `take`."""

    number: int
    holder: socket.socket

    def take(self) -> None:
        """Listen on it, as another process would."""
        with suppress(OSError):  # where the reservation has bound it already
            self.holder.bind((LOOPBACK, self.number))
        self.holder.listen(1)


@contextmanager
def reserved_port() -> Generator[ReservedPort]:
    """Keep a port from being handed out until the end of the block.

    On Linux a socket that is bound and does not listen keeps the system from choosing its port for
    others, and lets a server that may reuse addresses open it. Elsewhere it would be in the way.
    """
    reserved = _reserve()
    with reserved.holder:
        yield reserved


def kept_port() -> int:
    """Return a port that is handed out to nobody else as long as this process lives.

    It is for a server that is told its port, and for one that is away for a while and comes back.
    """
    reserved = _reserve()
    atexit.register(reserved.holder.close)
    return reserved.number


def _reserve() -> ReservedPort:
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":
        holder.bind((LOOPBACK, 0))
        return ReservedPort(holder.getsockname()[1], holder)
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return ReservedPort(probe.getsockname()[1], holder)
