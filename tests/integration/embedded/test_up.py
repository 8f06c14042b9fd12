"""`up` as its user meets it: one line when ready, one sentence when not, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from chancery.store.pool import connect
from chancery.store.roles import SERVICES
from chancery.testkit.ports import reserved_port
from chancery.testkit.postgres import Database, create_database, running_postgres
from chancery.testkit.servers import ServerSettings, run_apart
from chancery.testkit.waiting import WITHIN_S, wait_until

pytestmark = pytest.mark.integration

RUN_UP = Path(__file__).parent / "run_up.py"
READY = "Chancery is ready at http://127.0.0.1:"
NAMES = {"nats", "postgres", *SERVICES}


@dataclass
class Up:
    """A running `up`; `lines` is what it has said."""

    handle: subprocess.Popen[str]
    output: Path
    data: Path

    @property
    def lines(self) -> list[str]:
        return self.output.read_text().splitlines()

    def wait_ready(self) -> None:
        wait_until(lambda: READY in self.output.read_text() or self.handle.poll() is not None, 40)
        assert self.lines[-1].startswith(READY), self.lines

    def children(self) -> dict[str, psutil.Process]:
        found = {path.stem: path.read_text() for path in (self.data / "run").glob("*.pid")}
        return {name: psutil.Process(int(text.split()[0])) for name, text in found.items()}

    def told(self, service: str) -> dict[str, str]:
        return json.loads((self.data / f"{service}.told").read_text())

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        self.handle.send_signal(number)
        return self.handle.wait(30)


class Starter:
    """Starts `up` processes and ends whatever is left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Up] = []

    def __call__(self, data: Path | None = None, port: int = 0, **settings: object) -> Up:
        data = self.folder / "data" if data is None else data
        output = self.folder / f"output-{len(self.started)}"
        given = json.dumps({"data_dir": str(data), "http_port": port, **settings})
        with output.open("w") as file:
            handle = subprocess.Popen(
                [sys.executable, str(RUN_UP), given],
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.started.append(Up(handle, output, data))
        return self.started[-1]

    def end(self) -> None:
        for up in self.started:
            if up.handle.poll() is None:
                up.stop(signal.SIGTERM)


@pytest.fixture
def start_up(tmp_path: Path) -> Generator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.end()


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_it_says_when_all_are_ready_and_ctrl_c_stops_everything(start_up: Starter) -> None:
    up = start_up()
    up.wait_ready()
    children = up.children()

    code = up.stop(signal.SIGINT)

    assert set(children) == NAMES
    assert code == 0
    assert up.lines[-2:] == ["Stopping.", f"Stopped; the data are in {up.data}."]
    assert [name for name, process in children.items() if not _is_gone(process)] == []
    assert sorted((up.data / "stopped").read_text().split()) == sorted(SERVICES)
    assert not list((up.data / "run").glob("*.pid"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_other_signals_stop_it_too(start_up: Starter, number: signal.Signals) -> None:
    up = start_up()
    up.wait_ready()
    children = up.children()

    assert up.stop(number) == 0
    assert all(_is_gone(process) for process in children.values())


def test_a_signal_during_the_start_stops_what_has_been_started(start_up: Starter) -> None:
    up = start_up()
    wait_until((up.data / "run" / "nats.pid").exists, 20)

    assert up.stop(signal.SIGINT) == 0
    assert not list((up.data / "run").glob("*.pid"))
    assert not [found for found in psutil.process_iter(["cmdline"]) if _mentions(found, up.data)]


def test_a_second_start_finds_everything_and_is_quick(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()
    asyncio.run(_remember(first))
    keys = [(first.data / name).read_text() for name in ("signing.key", "token.key")]
    first.stop()

    begun = time.monotonic()
    second = start_up()
    second.wait_ready()
    took = time.monotonic() - begun

    assert asyncio.run(_recall(second)) == b"kept"
    assert [(second.data / name).read_text() for name in ("signing.key", "token.key")] == keys
    assert took < WITHIN_S


def test_after_kill_9_the_next_start_recovers_with_everything(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()
    asyncio.run(_remember(first))
    left = first.children()

    first.handle.kill()
    first.handle.wait(10)
    second = start_up()
    second.wait_ready()

    assert asyncio.run(_recall(second)) == b"kept"
    assert [name for name, process in left.items() if not _is_gone(process)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next start cleans up")
def test_the_servers_die_with_a_killed_supervisor(start_up: Starter) -> None:
    up = start_up()
    up.wait_ready()
    left = up.children()

    up.handle.kill()
    up.handle.wait(10)

    wait_until(lambda: _is_gone(left["nats"]) and _is_gone(left["postgres"]), 15)
    gone = {name for name, process in left.items() if _is_gone(process)}
    for process in left.values():
        # What stands for a service here does not notice that its supervisor is gone.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    assert gone >= {"nats", "postgres"}


@pytest.mark.parametrize("name", ["gateway", "nats", "postgres"])
def test_a_child_that_dies_is_started_again_with_one_line(start_up: Starter, name: str) -> None:
    up = start_up()
    up.wait_ready()
    victim = up.children()[name]

    victim.kill()

    wait_until(lambda: _is_new(up, name, victim), 20)
    assert f"{name} ended (signal 9); starting it again." in up.lines
    assert up.stop() == 0


def test_a_busy_port_is_said_before_anything_starts(start_up: Starter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = start_up(port=port)
        code = up.handle.wait(20)

    assert code == 1
    assert up.lines == [
        f"Port {port} is in use; stop what listens there or choose another with --port."
    ]
    assert not (up.data / "postgres" / "cluster").exists()


def test_a_folder_in_use_is_said_and_the_first_goes_on(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()

    second = start_up()
    code = second.handle.wait(20)

    assert code == 1
    said = f"The data folder {first.data} is in use by process {first.handle.pid}; "
    assert second.lines == [said + "stop that one or choose another folder."]
    assert first.handle.poll() is None


def test_a_folder_that_cannot_be_used_is_said(start_up: Starter, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    up = start_up(data=tmp_path / "file")

    assert up.handle.wait(20) == 1
    assert len(up.lines) == 1
    assert "cannot be used: file exists" in up.lines[0]


def test_a_part_of_the_folder_that_cannot_be_written_is_said(
    start_up: Starter, tmp_path: Path
) -> None:
    (tmp_path / "data" / "nats" / "server.conf").mkdir(parents=True)

    up = start_up()

    assert up.handle.wait(20) == 1
    assert up.lines == [f"The data folder {up.data} cannot be used: is a directory."]


def test_a_chosen_port_is_announced_and_told(start_up: Starter) -> None:
    with reserved_port() as port:
        up = start_up(port=port.number)
        up.wait_ready()

        assert up.lines[-1] == f"{READY}{port.number}"
    told = {up.told(service)["CHANCERY_HTTP_PORT"] for service in SERVICES}
    assert told == {str(port.number)}


@pytest.mark.parametrize(
    ("module", "name"), [("nats", "nats"), ("postgres", "postgres"), ("up", "gateway")]
)
def test_a_port_that_was_free_a_moment_ago_is_replaced_and_told(
    start_up: Starter, module: str, name: str
) -> None:
    with reserved_port() as port:
        port.take()
        up = start_up(unlucky={module: [port.number]})
        up.wait_ready()

    taken = f"Another process took port {port.number} before {name} could open it. Starting again."
    assert [line for line in up.lines if "took" in line] == [taken]
    assert up.lines[-1] != f"{READY}{port.number}"
    assert set(up.children()) == NAMES


def test_a_start_that_never_gets_a_port_gives_up_and_says_so(start_up: Starter) -> None:
    with reserved_port() as port:
        port.take()
        up = start_up(unlucky={"postgres": 5 * [port.number]})
        code = up.handle.wait(60)

    taken = f"Another process took port {port.number} before postgres could open it."
    assert code == 3
    assert [line for line in up.lines if "took" in line] == [f"{taken} Starting again."] * 4 + [
        taken
    ]
    assert not list((up.data / "run").glob("*.pid"))


def test_a_chosen_port_that_is_taken_during_the_start_is_refused(start_up: Starter) -> None:
    with reserved_port() as port:
        up = start_up(port=port.number)
        wait_until((up.data / "run" / "nats.pid").exists, 20)
        port.take()
        code = up.handle.wait(60)

    assert code == 1
    assert up.lines[-2:] == [
        f"Another process took port {port.number} before gateway could open it. Starting again.",
        f"Port {port.number} is in use; stop what listens there or choose another with --port.",
    ]


def test_nats_keeps_its_port_or_says_where_it_went(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()
    before = _nats_port(first)
    first.stop()

    with reserved_port() as other:
        # What the system gives to nobody else stands for the port of the start before.
        _remember_port(first.data, other.number)
        kept = start_up()
        kept.wait_ready()
        kept_at = _nats_port(kept)
        kept.stop()
        other.take()
        moved = start_up()
        moved.wait_ready()
        moved_to = _nats_port(moved)

    assert kept_at == other.number != before
    assert not [line for line in kept.lines if "NATS" in line]
    assert moved_to != other.number
    told = f"NATS is at port {moved_to} now, since {other.number} is in use; "
    assert [line for line in moved.lines if "NATS" in line] == [
        f"{told}who submits over the bus needs that one in the URL."
    ]


@pytest.fixture
def lent_database(tmp_path_factory: pytest.TempPathFactory) -> Generator[Database]:
    """Yield a database of a cluster of its own: `up` sets the passwords of the cluster's roles."""
    settings = ServerSettings(postgres_dsn=None, containers=False)
    with running_postgres(settings, tmp_path_factory.mktemp("lent")) as server:
        yield run_apart(create_database(server))


def test_given_servers_are_used_instead_of_our_own(
    start_up: Starter, nats_url: str, lent_database: Database, tmp_path: Path
) -> None:
    up = start_up(
        data=tmp_path / "with space", nats_url=nats_url, postgres_dsn=lent_database.superuser_dsn
    )
    up.wait_ready()

    assert set(up.children()) == set(SERVICES)
    assert {_nats_url(up, service) for service in SERVICES} == {nats_url}
    assert "CHANCERY_NATS_API_PREFIX" not in up.told("release")
    dsn = Path(up.told("release")["CHANCERY_POSTGRES_DSN_FILE"]).read_text().strip()
    assert asyncio.run(_who(dsn)) == ("chancery_release", lent_database.name)


def _is_new(up: Up, name: str, victim: psutil.Process) -> bool:
    words = _read(up.data / "run" / f"{name}.pid").split()
    return len(words) == 3 and words[0] != str(victim.pid)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _mentions(process: psutil.Process, data: Path) -> bool:
    return str(data) in " ".join(process.info["cmdline"] or [])


async def _who(dsn: str) -> tuple[str, str]:
    async with connect(dsn, name="test") as connection:
        role: str = await connection.fetchval("SELECT current_user")
        database: str = await connection.fetchval("SELECT current_database()")
    return role, database


def _nats_url(up: Up, service: str) -> str:
    return Path(up.told(service)["CHANCERY_NATS_URL_FILE"]).read_text().strip()


def _nats_port(up: Up) -> int:
    return int(_nats_url(up, "gateway").rpartition(":")[2])


def _remember_port(data: Path, port: int) -> None:
    config = data / "nats" / "server.conf"
    text = re.sub(r'(?m)^listen: "127\.0\.0\.1:\d+"$', f'listen: "127.0.0.1:{port}"', _read(config))
    config.write_text(text)


def _admin_url(up: Up) -> str:
    address = _nats_url(up, "gateway").rpartition("@")[2]
    password = json.loads((up.data / "nats" / "credentials.json").read_text())["password"]
    return f"nats://chancery:{password}@{address}"


async def _remember(up: Up) -> None:
    client = Client()
    await client.connect(_admin_url(up))
    stream = JetStreamContext(client)
    await stream.add_stream(  # pyright: ignore[reportUnknownMemberType]
        StreamConfig(name="KEEP", subjects=["keep"])
    )
    await stream.publish("keep", b"kept", timeout=5)
    await client.close()


async def _recall(up: Up) -> bytes | None:
    client = Client()
    await client.connect(_admin_url(up))
    message = await JetStreamContext(client).get_last_msg("KEEP", "keep")
    await client.close()
    return message.data
