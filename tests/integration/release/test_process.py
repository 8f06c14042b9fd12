"""The service as a process: it becomes ready, stops when told, and refuses a foreign log."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from pathlib import Path

import pytest

from chancery.bus.connection import API_PREFIX, connect
from chancery.bus.provision import apply
from chancery.events.topology import AUTHORITY
from chancery.testkit.nats import NatsAccess
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.world import parse

pytestmark = pytest.mark.integration


async def started(
    nats_url: str, database: Database, folder: Path, *, prefix: str = API_PREFIX
) -> tuple[Process, Path]:
    port_file = folder / "port"
    port_file.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_url,
        "CHANCERY_NATS_API_PREFIX": prefix,
        "CHANCERY_POSTGRES_DSN": database.dsn("release"),
        "CHANCERY_BLOBS_URL": f"file://{folder}/blobs",
        "CHANCERY_SIGNING_KEY": "07" * 32,
        "CHANCERY_MANAGEMENT_PORT": "0",
        "CHANCERY_MANAGEMENT_PORT_FILE": str(port_file),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chancery.release",
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    return process, port_file


def port_in(port_file: Path) -> int | None:
    text = port_file.read_text().strip() if port_file.exists() else ""
    return int(text) if text else None


async def status_of(port_file: Path) -> int:
    """Return the HTTP status of /readyz, 0 while nobody answers."""
    port = port_in(port_file)
    if port is None:
        return 0
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        line = await reader.readline()
    except OSError:
        return 0
    writer.close()
    return int(line.split()[1]) if line else 0


async def ended(process: Process) -> tuple[int, str]:
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_it_becomes_ready_stops_when_told_and_refuses_a_foreign_log(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with connect(nats_url, name="test") as bus:
        await apply(bus)
        process, port_file = await started(nats_url, database, tmp_path)

        async def is_ready() -> bool:
            return await status_of(port_file) == 200

        await eventually(is_ready, 60)
        process.send_signal(signal.SIGTERM)
        code, _ = await ended(process)

        await bus.jetstream.delete_stream(AUTHORITY)
        await apply(bus)
        process, _ = await started(nats_url, database, tmp_path)
        refused, output = await ended(process)

    assert code == 0
    assert refused == 1
    assert "was created again since the projection was built" in output


async def told(arguments: list[str], environment: dict[str, str]) -> tuple[int, list[str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "chancery.release",
        *arguments,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode is not None
    lines = [line for line in output.decode().splitlines() if '"event":' in line]
    return process.returncode, [str(parse(line)["event"]) for line in lines]


@pytest.mark.req("EV-5", "EV-8")
async def test_an_operator_rebuilds_and_switches_beside_the_running_process(
    nats_access: NatsAccess, database: Database, tmp_path: Path
) -> None:
    environment = {
        **os.environ,
        "CHANCERY_NATS_URL": nats_access.service_urls["release"],
        "CHANCERY_NATS_API_PREFIX": nats_access.api_prefix,
        "CHANCERY_POSTGRES_DSN": database.dsn("release"),
    }
    process, port_file = await started(
        nats_access.service_urls["release"], database, tmp_path, prefix=nats_access.api_prefix
    )

    async def is_ready() -> bool:
        return await status_of(port_file) == 200

    await eventually(is_ready, 60)
    early = await told(["projections", "switch", "authority"], environment)
    rebuilt = await told(["projections", "rebuild", "all"], environment)
    switched = await told(["projections", "switch", "all"], environment)
    status = await told(["projections", "status", "all"], environment)
    wrong = await told(["projections", "drop", "all"], environment)
    is_ready_still = await eventually(is_ready)
    process.send_signal(signal.SIGTERM)
    await ended(process)

    assert early == (1, ["failed"])
    assert (rebuilt[0], set(rebuilt[1])) == (0, {"progress", "rebuilt"})
    assert switched == (0, ["switched", "switched"])
    assert status == (0, ["status", "status", "waiting"])
    assert wrong == (2, [])
    assert is_ready_still
