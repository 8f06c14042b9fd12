"""Servers of the tests themselves: a port that was taken in between costs an attempt, no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.embedded import nats
from chancery.embedded.nats import NatsServer
from chancery.embedded.ports import free_port
from chancery.testkit.ports import reserved_port
from chancery.testkit.starting import start_prepared

pytestmark = pytest.mark.integration


def _prepare(folder: Path) -> NatsServer:
    return nats.prepare(folder, run=folder, logs=folder)


def test_a_server_whose_port_was_taken_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reserved_port() as port:
        port.take()
        left = [port.number]
        monkeypatch.setattr(nats, "free_port", lambda: left.pop() if left else free_port())

        server, process = start_prepared(lambda: _prepare(tmp_path))
        process.stop()

    assert left == []
    assert server.port != port.number


def test_a_server_that_never_gets_a_port_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reserved_port() as port:
        port.take()
        monkeypatch.setattr(nats, "free_port", lambda: port.number)

        with pytest.raises(AssertionError, match=r"ended 3 times; .*nats\.log says why"):
            start_prepared(lambda: _prepare(tmp_path))
