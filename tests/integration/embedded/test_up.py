"""`up` as its user meets it: one line when ready, one sentence when not, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import Generator
from contextlib import suppress
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
from tests.integration.embedded.starter import NAMES, READY, Starter, Up

pytestmark = pytest.mark.integration


def _is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


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
    wait_until((up.data / "run" / "nats.pid").exists, 60)

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
    first.handle.wait(30)
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
    up.handle.wait(30)

    wait_until(lambda: _is_gone(left["nats"]) and _is_gone(left["postgres"]))
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

    wait_until(lambda: _is_new(up, name, victim), 60)
    assert f"{name} ended (signal 9); starting it again." in up.lines
    assert up.stop() == 0


def test_a_busy_port_is_said_before_anything_starts(start_up: Starter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = start_up(port=port)
        code = up.handle.wait(60)

    assert code == 1
    assert up.lines == [
        f"Port {port} is in use; stop what listens there or choose another with --port."
    ]
    assert not (up.data / "postgres" / "cluster").exists()


def test_a_folder_in_use_is_said_and_the_first_goes_on(start_up: Starter) -> None:
    first = start_up()
    first.wait_ready()

    second = start_up()
    code = second.handle.wait(60)

    assert code == 1
    said = f"The data folder {first.data} is in use by process {first.handle.pid}; "
    assert second.lines == [said + "stop that one or choose another folder."]
    assert first.handle.poll() is None


def test_a_folder_that_cannot_be_used_is_said(start_up: Starter, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    up = start_up(data=tmp_path / "file")

    assert up.handle.wait(60) == 1
    assert len(up.lines) == 1
    assert "cannot be used: file exists" in up.lines[0]


def test_a_part_of_the_folder_that_cannot_be_written_is_said(
    start_up: Starter, tmp_path: Path
) -> None:
    (tmp_path / "data" / "nats" / "server.conf").mkdir(parents=True)

    up = start_up()

    assert up.handle.wait(60) == 1
    assert up.lines == [f"The data folder {up.data} cannot be used: is a directory."]


def test_a_chosen_port_is_announced_and_told(start_up: Starter) -> None:
    with reserved_port() as port:
        up = start_up(port=port.number)
        up.wait_ready()

        assert up.lines[-1] == f"{READY}{port.number}"
    told = {up.told(service)["CHANCERY_HTTP_PORT"] for service in SERVICES}
    assert told == {str(port.number)}


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
    assert {up.nats_url(service) for service in SERVICES} == {nats_url}
    assert "CHANCERY_NATS_API_PREFIX" not in up.told("release")
    dsn = Path(up.told("release")["CHANCERY_POSTGRES_DSN_FILE"]).read_text().strip()
    assert asyncio.run(_who(dsn)) == ("chancery_release", lent_database.name)


def _is_new(up: Up, name: str, victim: psutil.Process) -> bool:
    words = _read(up.data / "run" / f"{name}.pid").split()
    return len(words) == 3 and words[0] != str(victim.pid)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _mentions(process: psutil.Process, data: Path) -> bool:
    return str(data) in " ".join(process.info["cmdline"] or [])


async def _who(dsn: str) -> tuple[str, str]:
    async with connect(dsn, name="test") as connection:
        role: str = await connection.fetchval("SELECT current_user")
        database: str = await connection.fetchval("SELECT current_database()")
    return role, database


def _admin_url(up: Up) -> str:
    address = up.nats_url("gateway").rpartition("@")[2]
    password = json.loads((up.data / "nats" / "credentials.json").read_text())["password"]
    return f"nats://chancery:{password}@{address}"


async def _remember(up: Up) -> None:
    client = Client()
    await client.connect(_admin_url(up))
    stream = JetStreamContext(client)
    await stream.add_stream(  # pyright: ignore[reportUnknownMemberType]
        StreamConfig(name="KEEP", subjects=["keep"])
    )
    await stream.publish("keep", b"kept", timeout=30)
    await client.close()


async def _recall(up: Up) -> bytes | None:
    client = Client()
    await client.connect(_admin_url(up))
    message = await JetStreamContext(client).get_last_msg("KEEP", "keep")
    await client.close()
    return message.data
