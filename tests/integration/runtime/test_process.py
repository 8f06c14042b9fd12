"""A service as a real process: exit codes, signals, a dead parent, and one sentence per mistake."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
import pytest

from chancery.bus.connection import Connection
from chancery.runtime.http import bound_socket
from chancery.runtime.parent import POLL_S
from chancery.testkit.waiting import eventually
from tests.integration.runtime.parts import cancelled, get, is_settled, send

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
SERVICE = ROOT / "tests/integration/runtime/small_service.py"
EXIT_S = 60


@contextmanager
def process(folder: Path, nats_url: str, **settings: str) -> Generator[subprocess.Popen[str]]:
    """Run the small service with its settings in the environment, and end it in any case."""
    with subprocess.Popen(
        [sys.executable, str(SERVICE)],
        env=environment(folder, nats_url, settings),
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


@contextmanager
def between(
    settings: Mapping[str, str], log: int | IO[str] = subprocess.DEVNULL
) -> Generator[subprocess.Popen[str]]:
    """Run a process that runs the small service, tells its id, and is ended in any case."""
    program = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, sys.argv[1]]);"
        " print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(SERVICE)],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    ) as parent:
        try:
            yield parent
        finally:
            parent.kill()


@contextmanager
def silent_server() -> Generator[socket.socket]:
    """Listen at a port where everybody is let in and nobody is ever answered."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(EXIT_S)
        yield listening


def pid_of_the_gone() -> int:
    """Return the id of a process that was."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        return gone.pid


@dataclass(frozen=True, slots=True)
class Waiting:
    """A service that waits for what does not answer, what ran it, and what it says."""

    service: psutil.Process
    parent: subprocess.Popen[str]
    log: Path

    def is_gone(self) -> bool:
        """Tell whether the service has ended."""
        try:
            return not self.service.is_running() or self.service.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True


@asynccontextmanager
async def waiting(
    folder: Path, nats_url: str, silent: socket.socket, settings: Mapping[str, str]
) -> AsyncGenerator[Waiting]:
    """Start the small service below another process, and yield once it waits for `silent`."""
    log = folder / "log"
    with log.open("w") as errors, between(environment(folder, nats_url, settings), errors) as own:
        assert own.stdout is not None
        service = psutil.Process(int(await asyncio.to_thread(own.stdout.readline)))
        try:
            taken, _ = await asyncio.to_thread(silent.accept)
            with taken:
                yield Waiting(service, own, log)
        finally:
            with suppress(psutil.NoSuchProcess):
                service.kill()


def environment(folder: Path, nats_url: str, settings: Mapping[str, str]) -> dict[str, str]:
    own = {
        "nats_url": nats_url,
        "output": str(folder / "output"),
        "management_port_file": str(folder / "port"),
        **settings,
    }
    inherited = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return inherited | {f"CHANCERY_{name}".upper(): value for name, value in own.items()}


def lines(folder: Path) -> list[str]:
    path = folder / "output"
    return path.read_text("utf-8").splitlines() if path.exists() else []


async def up(folder: Path) -> int:
    """Return the management port once the service is ready."""

    def port_when_ready() -> int:
        path = folder / "port"
        if not path.exists():
            return 0
        port = int(path.read_text("ascii"))
        return port if get(port, "/readyz")[0] == 200 else 0

    return await eventually(lambda: asyncio.to_thread(port_when_ready), within_s=EXIT_S)


async def ended(child: subprocess.Popen[str]) -> tuple[int, str]:
    """Return exit code and stderr."""
    _, errors = await asyncio.to_thread(child.communicate, timeout=EXIT_S)
    return child.returncode, errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains_and_ends_with_zero(
    connection: Connection, nats_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    with process(tmp_path, nats_url, work_s="1") as child:
        await up(tmp_path)
        await send(connection, cancelled("r1"))
        await eventually(lambda: lines(tmp_path))
        child.send_signal(number)
        code, errors = await ended(child)

    assert code == 0, errors
    assert lines(tmp_path) == ["begun r1 1", "done r1 1"]
    # The server works on an acknowledgement when it has time.
    assert await eventually(lambda: is_settled(connection))


async def test_a_handler_beyond_the_stop_time_does_not_hold_the_process(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    with process(tmp_path, nats_url, work_s="60", stop_s="0.3") as child:
        await up(tmp_path)
        await send(connection, cancelled("r1"))
        await eventually(lambda: lines(tmp_path))
        child.send_signal(signal.SIGTERM)
        code, _ = await ended(child)

    assert code == 0
    assert lines(tmp_path) == ["begun r1 1"]


@pytest.mark.chaos
async def test_a_killed_service_loses_nothing(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    with process(tmp_path, nats_url, work_s="60") as child:
        await up(tmp_path)
        await send(connection, cancelled("r1"))
        await eventually(lambda: lines(tmp_path))
        child.kill()
        await ended(child)
    (tmp_path / "port").unlink()

    with process(tmp_path, nats_url):
        await up(tmp_path)
        await eventually(lambda: "done r1 2" in lines(tmp_path))

    assert lines(tmp_path) == ["begun r1 1", "begun r1 2", "done r1 2"]


async def test_a_service_ends_when_its_parent_is_gone(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    del connection
    with between(environment(tmp_path, nats_url, {"parent_watch": "1"})) as parent:
        port = await up(tmp_path)
        parent.kill()

    def is_gone() -> bool:
        try:
            get(port, "/healthz")
        except OSError:
            return True
        return False

    assert await eventually(lambda: asyncio.to_thread(is_gone), within_s=EXIT_S)


@pytest.mark.parametrize("absent", ["NATS", "PostgreSQL"])
async def test_a_service_that_waits_for_what_is_absent_ends_with_its_parent(
    connection: Connection, nats_url: str, tmp_path: Path, absent: str
) -> None:
    del connection
    with silent_server() as silent:
        port = silent.getsockname()[1]
        url = f"nats://127.0.0.1:{port}" if absent == "NATS" else nats_url
        settings = {"parent_watch": "1"}
        if absent == "PostgreSQL":
            settings["postgres_dsn"] = f"postgresql://nobody@127.0.0.1:{port}/nothing"
        async with waiting(tmp_path, url, silent, settings) as started:
            assert not started.is_gone()
            started.parent.kill()

            await eventually(started.is_gone, within_s=EXIT_S)
            told = started.log.read_text()

    assert "the parent process is gone" in told
    assert "service ended" not in told


async def test_a_service_that_watches_nobody_goes_on_waiting(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    """The positive control: what ends the others is the watch, and not what they wait for."""
    del connection
    with silent_server() as silent:
        dsn = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"
        async with waiting(tmp_path, nats_url, silent, {"postgres_dsn": dsn}) as started:
            started.parent.kill()
            await eventually(lambda: started.service.ppid() != started.parent.pid)

            await asyncio.to_thread(started.parent.wait)
            with pytest.raises(psutil.TimeoutExpired):
                await asyncio.to_thread(started.service.wait, 4 * POLL_S)


async def test_a_service_whose_parent_was_gone_before_it_looked_ends(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    del connection
    settings = {"parent_watch": "1", "parent_pid": str(pid_of_the_gone())}

    with process(tmp_path, nats_url, **settings) as child:
        _, errors = await ended(child)

    assert "the parent process is gone" in errors


async def test_corrupt_bytes_end_the_service_with_one(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    del connection
    with process(tmp_path, nats_url, corrupt="1") as child:
        code, errors = await ended(child)

    last = json.loads(errors.splitlines()[-1])
    assert code == 1
    assert (last["code"], last["service"], last["level"]) == ("log_regressed", "release", "error")


async def test_a_busy_port_is_one_sentence_and_no_hang(
    connection: Connection, nats_url: str, tmp_path: Path
) -> None:
    del connection
    with bound_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        with process(tmp_path, nats_url, management_port=port) as child:
            code, errors = await ended(child)

    assert code == 3
    last = json.loads(errors.splitlines()[-1])
    assert last["code"] == "port_in_use"
    assert f"port {port} on 127.0.0.1" in last["detail"]


async def test_a_bus_without_topology_is_one_sentence(nats_url: str, tmp_path: Path) -> None:
    with process(tmp_path, nats_url) as child:
        code, errors = await ended(child)

    last = json.loads(errors.splitlines()[-1])
    assert (code, last["code"]) == (3, "topology_missing")
    assert "chancery streams apply" in last["detail"]


async def test_an_unreachable_bus_ends_in_time(tmp_path: Path) -> None:
    with process(tmp_path, "nats://127.0.0.1:9") as child:
        code, errors = await ended(child)

    assert code == 3
    assert json.loads(errors.splitlines()[-1])["error_type"] == "Unavailable"


async def test_a_wrong_setting_is_named_without_its_value(nats_url: str, tmp_path: Path) -> None:
    with process(tmp_path, nats_url, stop_s="soon-secret") as child:
        code, errors = await ended(child)

    assert code == 2
    assert "CHANCERY_STOP_S" in errors
    assert "soon-secret" not in errors
    assert len(errors.splitlines()) == 1
