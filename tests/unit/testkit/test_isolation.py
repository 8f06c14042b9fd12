"""Unit tests cannot reach a server, not even one on this machine."""

from __future__ import annotations

import socket

import pytest


def test_connection_to_a_listening_port_is_refused() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(AssertionError, match="connects to nothing"),
    ):
        socket.create_connection(server.getsockname(), timeout=1)


def test_local_pair_still_works() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"x")

        assert right.recv(1) == b"x"
