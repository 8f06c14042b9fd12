"""Servers of one test alone, which it may stop, pause, and bring back with another store."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from chancery.embedded import nats as embedded_nats
from chancery.embedded import postgres as embedded_postgres
from chancery.embedded.process import RunningProcess, start
from chancery.testkit.ports import kept_port
from chancery.testkit.postgres import Database, create_template
from chancery.testkit.servers import run_apart
from chancery.testkit.waiting import wait_until

READY_WITHIN_S = 30


@dataclass(slots=True)
class Server:
    """A server of this test, whose store can be kept and brought back."""

    server: embedded_nats.NatsServer | embedded_postgres.PostgresServer
    folder: Path
    process: RunningProcess | None = None

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        self.process = start(self.server.spec)
        wait_until(self.server.is_ready, within_s=READY_WITHIN_S)

    def end(self) -> None:
        """Stop it."""
        if self.process is not None:
            self.go_on()
            self.process.stop()
            self.process = None

    def pause(self) -> None:
        """Let it answer nothing, with every connection open."""
        for each in self._family():
            each.suspend()

    def go_on(self) -> None:
        """Let it answer again."""
        for each in self._family():
            each.resume()

    def _family(self) -> list[psutil.Process]:
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]


@dataclass(slots=True)
class Nats(Server):
    """A NATS server, with the URL of its administrator."""

    url: str = ""

    def keep(self) -> None:
        """Copy the store as it is."""
        self.end()
        shutil.copytree(self.folder / "data", self.folder / "kept")
        self.begin()

    def restore(self) -> None:
        """Bring the copy back in the place of what was stored since."""
        self.end()
        shutil.rmtree(self.folder / "data")
        shutil.copytree(self.folder / "kept", self.folder / "data")
        self.begin()


@contextmanager
def own_nats(folder: Path) -> Generator[Nats]:
    """Yield a NATS server of this test."""
    folder.mkdir()
    server = _prepare_nats(folder)
    own = Nats(server, folder, url=server.url)
    own.begin()
    try:
        yield own
    finally:
        own.end()


def _prepare_nats(folder: Path) -> embedded_nats.NatsServer:
    # Nobody else gets its ports while it is down.
    ports = {"port": kept_port(), "http_port": kept_port()}
    return embedded_nats.prepare(folder, run=folder, logs=folder, **ports)


@contextmanager
def own_postgres(folder: Path) -> Generator[tuple[Server, Database]]:
    """Yield a PostgreSQL of this test, and a migrated database in it."""
    folder.mkdir()
    server = embedded_postgres.prepare(folder, run=folder, logs=folder, port=kept_port())
    own = Server(server, folder)
    own.begin()
    try:
        yield own, run_apart(create_template(server.dsn()))
    finally:
        own.end()
