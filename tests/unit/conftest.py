"""Unit tests reach no network: a connection to anywhere fails at once and says why."""

from __future__ import annotations

import socket

import pytest

INTERNET = frozenset({socket.AF_INET, socket.AF_INET6})


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse connections of the internet families; pipes and local sockets stay."""
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: tuple[str, int]) -> None:
        if self.family in INTERNET:
            message = "a unit test connects to nothing: move it to tests/integration"
            self.close()
            raise AssertionError(message)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", refuse)
