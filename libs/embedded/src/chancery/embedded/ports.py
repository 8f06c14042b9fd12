"""Ports on the loopback address: which one is free, and who answers on one."""

from __future__ import annotations

import errno
import http.client
import os
import socket
from http import HTTPStatus

from chancery.embedded.errors import PortBusy

LOOPBACK = "127.0.0.1"

_ANSWER_TIMEOUT_S = 2.0


def free_port() -> int:
    """Return a port that nothing listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(port: int) -> None:
    """Refuse a port that cannot be opened now.

    Raises:
        PortBusy: saying whether it is taken or forbidden, and what to do.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a connection that is still closing does not make the port busy.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            raise PortBusy(_sentence(port, error), field="http_port") from error


def answers_ok(port: int, path: str) -> bool:
    """Tell whether a server on this port answers `GET path` with 200. Blocks for a moment."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _sentence(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is in use; stop what listens there or choose another with --port."
    reason = os.strerror(error.errno).lower() if error.errno else "unknown reason"
    return f"Port {port} cannot be opened: {reason}; choose another with --port."
