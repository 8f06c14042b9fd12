"""The embedded servers: what was acknowledged survives `kill -9`, and only our users get in."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Generator
from pathlib import Path

import asyncpg
import nats.errors
import psutil
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig

from chancery.embedded import nats as embedded_nats
from chancery.embedded import postgres as embedded_postgres
from chancery.embedded.errors import FolderNotUsable, SecretDamaged, StartFailed
from chancery.embedded.nats import NatsServer
from chancery.embedded.postgres import PostgresServer
from chancery.embedded.process import RunningProcess, start, stop_left_behind
from chancery.store.pool import connect
from chancery.testkit.ports import kept_port
from chancery.testkit.waiting import wait_until

pytestmark = pytest.mark.integration

STREAM = StreamConfig(name="KEEP", subjects=["keep.>"], storage=StorageType.FILE)


class Servers:
    """Starts servers in one folder and stops them at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[RunningProcess] = []

    def nats(self) -> tuple[NatsServer, RunningProcess]:
        (self.folder / "nats").mkdir(exist_ok=True)
        server = embedded_nats.prepare(
            self.folder / "nats",
            run=self.folder,
            logs=self.folder,
            port=kept_port(),
            http_port=kept_port(),
        )
        process = start(server.spec)
        self.running.append(process)
        wait_until(server.is_ready)
        return server, process

    def postgres(self) -> tuple[PostgresServer, RunningProcess]:
        folder = self.folder / "postgres"
        folder.mkdir(exist_ok=True)
        server = embedded_postgres.prepare(
            folder, run=self.folder, logs=self.folder, port=kept_port()
        )
        process = start(server.spec)
        self.running.append(process)
        wait_until(lambda: server.is_ready() or process.exit_code() is not None)
        return server, process


@pytest.fixture
def servers(tmp_path: Path) -> Generator[Servers]:
    servers = Servers(tmp_path)
    yield servers
    for process in servers.running:
        process.stop()


@pytest.mark.req("EV-10")
async def test_acknowledged_events_survive_kill_9_of_nats(servers: Servers) -> None:
    server, process = servers.nats()
    client = await _client(server.url)
    stream = JetStreamContext(client)
    await stream.add_stream(STREAM)  # pyright: ignore[reportUnknownMemberType]
    acknowledged = [(await stream.publish("keep.a", b"%d" % n, timeout=30)).seq for n in range(50)]
    await client.close()

    process.kill()
    server, _ = servers.nats()

    client = await _client(server.url)
    state = (await JetStreamContext(client).stream_info("KEEP")).state
    await client.close()
    assert acknowledged == list(range(1, 51))
    assert (state.messages, state.last_seq) == (50, 50)


async def test_nats_lets_nobody_in_without_the_password(servers: Servers) -> None:
    server, _ = servers.nats()
    bare = server.url.replace(server.url.split("//")[1].split("@")[0] + "@", "")

    with pytest.raises(nats.errors.Error, match="Authorization"):
        await _client(bare)
    with pytest.raises(nats.errors.Error, match="Authorization"):
        await _client(server.url.replace("@", "x@"))

    client = await _client(server.url)
    assert client.is_connected
    await client.close()


async def test_committed_rows_survive_kill_9_of_postgres(servers: Servers) -> None:
    server, process = servers.postgres()
    async with connect(server.dsn(), name="test") as connection:
        await connection.execute("CREATE TABLE public.kept (id integer)")
        await connection.execute("INSERT INTO public.kept SELECT generate_series(1, 50)")

    os.kill(process.pid, signal.SIGKILL)
    process.stop()
    assert (server.cluster / "postmaster.pid").exists()
    # Its own children notice its death and end a moment later; a supervisor tries again.
    wait_until(lambda: not _still_serving(server.cluster))
    server, _ = servers.postgres()

    async with connect(server.dsn(), name="test") as connection:
        assert await connection.fetchval("SELECT count(id) FROM public.kept") == 50


def test_a_left_over_state_file_does_not_look_ready(servers: Servers) -> None:
    server, process = servers.postgres()
    assert server.is_ready()

    # It goes first: one that sees its own children die says so in the file.
    os.kill(process.pid, signal.SIGKILL)
    process.stop()

    assert (server.cluster / "postmaster.pid").read_text().splitlines()[7].strip() == "ready"
    assert not server.is_ready()


async def test_postgres_syncs_every_commit_and_hashes_passwords(servers: Servers) -> None:
    server, _ = servers.postgres()
    async with connect(server.dsn(), name="test") as connection:
        found = {
            name: await connection.fetchval("SELECT current_setting($1)", name)
            for name in ("fsync", "synchronous_commit", "full_page_writes", "listen_addresses")
        }
        rules = await connection.fetch("SELECT DISTINCT auth_method FROM pg_hba_file_rules")

    assert found == {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "listen_addresses": "127.0.0.1",
    }
    assert {rule["auth_method"] for rule in rules} == {"scram-sha-256"}


async def test_postgres_lets_nobody_in_with_another_password(servers: Servers) -> None:
    server, _ = servers.postgres()

    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(server.dsn_for("postgres", "wrong", database="postgres"), timeout=30)


def test_postgres_never_runs_as_root_and_others_cannot_read_it(servers: Servers) -> None:
    server, process = servers.postgres()

    assert psutil.Process(process.pid).uids().effective != 0
    assert stat.S_IMODE(server.cluster.stat().st_mode) == 0o700
    password_file = servers.folder / "postgres" / "superuser.password"
    assert stat.S_IMODE(password_file.stat().st_mode) == 0o600


def test_a_start_that_was_killed_half_way_is_made_good(servers: Servers) -> None:
    abandoned = servers.folder / "postgres" / "new-0badbeef"
    (abandoned / "cluster" / "base").mkdir(parents=True)

    server, _ = servers.postgres()

    assert server.is_ready()
    assert not abandoned.exists()


def test_a_cluster_of_another_version_is_refused(servers: Servers) -> None:
    server, process = servers.postgres()
    process.stop()
    (server.cluster / "PG_VERSION").write_text("17\n")

    with pytest.raises(FolderNotUsable, match="is of PostgreSQL 17, the installed one is 18"):
        servers.postgres()


def test_a_lost_password_of_an_existing_cluster_is_never_replaced(servers: Servers) -> None:
    _, process = servers.postgres()
    process.stop()
    (servers.folder / "postgres" / "superuser.password").unlink()

    with pytest.raises(SecretDamaged, match="is missing, but its cluster exists"):
        servers.postgres()


def test_a_cluster_that_cannot_be_made_names_its_log(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_postgres, "SUPERUSER", "pg_reserved")

    with pytest.raises(StartFailed, match=r"could not make its cluster; .*initdb\.log says why"):
        servers.postgres()

    assert not (servers.folder / "postgres" / "cluster").exists()


def test_what_an_earlier_run_left_is_ended_and_a_stranger_is_not(servers: Servers) -> None:
    _, process = servers.nats()
    stranger = servers.folder / "stranger.pid"
    stranger.write_text(f"{os.getpid()} 12345.0 9")

    ended = stop_left_behind(servers.folder)

    assert ended == ("nats",)
    assert process.handle.wait(30) is not None
    assert not stranger.exists()


async def _client(url: str) -> Client:
    client = Client()
    try:
        await client.connect(url, connect_timeout=30, allow_reconnect=False, error_cb=_quiet)
    except nats.errors.Error:
        await client.close()
        raise
    return client


async def _quiet(_: Exception) -> None:
    return


def _still_serving(cluster: Path) -> bool:
    return any(
        str(cluster) in " ".join(process.info["cmdline"] or [])
        or process.info["cwd"] == str(cluster)
        for process in psutil.process_iter(["cmdline", "cwd", "status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE
    )


async def test_the_log_of_postgres_repeats_no_content(servers: Servers) -> None:
    server, _ = servers.postgres()
    canary = "canary-of-content"

    async with connect(server.dsn(), name="test") as database:
        await database.execute("CREATE TEMP TABLE kept (word text PRIMARY KEY)")
        await database.execute("INSERT INTO kept VALUES ($1)", canary)
        with pytest.raises(asyncpg.UniqueViolationError, match=r"kept_pkey"):
            await database.execute("INSERT INTO kept VALUES ($1)", canary)
        with pytest.raises(asyncpg.DataError):
            await database.execute("SELECT $1::text::jsonb", f'{{"{canary}": "\\u0000"}}')

    log = server.spec.log_path.read_text("utf-8")
    assert "duplicate key" in log
    assert "unsupported Unicode" in log
    assert canary not in log
