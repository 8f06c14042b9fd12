"""The whole system as a child process, started and stopped as a person would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import BaseModel

from chancery.client.http import Chancery, connect
from chancery.testkit.waiting import wait_until

READY_WITHIN_S = 240
STOPPED_WITHIN_S = 120
COMMAND = (sys.executable, "-m", "chancery.client.command")


class Told(BaseModel):
    """One line of `up --json`."""

    line: str
    url: str | None


@dataclass(frozen=True, slots=True)
class System:
    """A running system: where it answers, its data, its supervisor and what that has told."""

    url: str
    folder: Path
    supervisor: subprocess.Popen[bytes]
    output: Path

    @property
    def token(self) -> str:
        """The operator's token."""
        return (self.folder / "operator.token").read_text("ascii").strip()

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the command calls this system."""
        return {"CHANCERY_URL": self.url, "CHANCERY_TOKEN": self.token}

    @asynccontextmanager
    async def operator(self) -> AsyncGenerator[Chancery]:
        """Yield a client with the operator's token."""
        async with connect(self.url, self.token) as client:
            yield client

    def told(self) -> list[Told]:
        """Return the lines that the supervisor has printed."""
        lines = self.output.read_bytes().splitlines()
        return [Told.model_validate_json(line) for line in lines]

    def child(self, name: str) -> psutil.Process | None:
        """Return the child that the supervisor keeps under this name, unless it is gone."""
        try:
            written = (self.folder / "run" / f"{name}.pid").read_text("ascii")
            return psutil.Process(int(written.split()[0]))
        except (FileNotFoundError, IndexError, psutil.NoSuchProcess):
            return None

    @contextmanager
    def paused(self, name: str) -> Generator[None]:
        """Let a service do nothing until the end of the block: what waits for it stays open."""
        process = self.child(name)
        assert process is not None
        process.suspend()
        try:
            yield
        finally:
            process.resume()

    def children(self) -> list[psutil.Process]:
        """Return every process below the supervisor."""
        return psutil.Process(self.supervisor.pid).children(recursive=True)

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask the supervisor to end and return its exit code."""
        self.supervisor.send_signal(number)
        return self.supervisor.wait(STOPPED_WITHIN_S)


@contextmanager
def running(
    folder: Path, settings: Mapping[str, str] | None = None, *, port: int = 0
) -> Generator[System]:
    """Start a system on `folder` and a free port, or `port`; end it when the block ends."""
    output = folder.with_name(f"{folder.name}.told")
    with output.open("wb") as told:
        supervisor = subprocess.Popen(
            [*COMMAND, "up", "--data-dir", str(folder), "--port", str(port), "--json"],
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(settings or {})},
        )
    try:
        url = wait_until(lambda: _url(supervisor, output), within_s=READY_WITHIN_S)
        assert url is not None
        yield System(url, folder, supervisor, output)
    finally:
        _end(supervisor)


def command(
    arguments: Sequence[str], settings: Mapping[str, str] | None = None, *, timeout_s: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end and return what it printed."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=timeout_s,
        env={**os.environ, "COLUMNS": "100", **(settings or {})},
    )


def _url(supervisor: subprocess.Popen[bytes], output: Path) -> str | None:
    lines = [line for line in output.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"]
    assert supervisor.poll() is None, lines
    found = [Told.model_validate_json(line).url for line in lines]
    return next((url for url in found if url is not None), None)


def _end(supervisor: subprocess.Popen[bytes]) -> None:
    if supervisor.poll() is not None:
        return
    supervisor.send_signal(signal.SIGTERM)
    try:
        supervisor.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait(STOPPED_WITHIN_S)
