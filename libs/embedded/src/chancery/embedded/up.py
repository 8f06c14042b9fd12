"""`chancery up`: the whole system from one folder, until it is asked to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from chancery.embedded import nats, postgres
from chancery.embedded.database import (
    ensure_database,
    role_passwords,
    runtime_dsn,
)
from chancery.embedded.errors import PortTaken
from chancery.embedded.folder import HTTP_PORT_FILE, DataFolder, hold_folder
from chancery.embedded.ports import LOOPBACK, check_port, free_port
from chancery.embedded.process import stop_left_behind
from chancery.embedded.secret_files import write_secret
from chancery.embedded.services import Wiring, service_children
from chancery.embedded.settings import UpSettings, UpSteps
from chancery.embedded.supervisor import Announce, Child, Supervisor
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.store.roles import SERVICES, runtime_role

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_UNAVAILABLE = 3

PORT_ATTEMPTS = 5
"""How often everything is started when other processes take ports that were just chosen."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class _Servers:
    """Where NATS and PostgreSQL are, and which of them are ours to run.

    `nats_url` is whose topology is provisioned, `nats_urls` what each service logs in with.
    """

    nats_url: str
    nats_urls: Mapping[str, str]
    nats_api_prefix: str | None
    dsn: str
    superuser_dsn: str | None
    children: tuple[Child, ...]


async def up(settings: UpSettings, *, announce: Announce, steps: UpSteps) -> int:
    """Run everything until SIGINT, SIGTERM or SIGHUP; return the exit code.

    Every failure is told in one sentence: 1 when something has to be changed first, 3 when a part
    did not come up or keeps dying. Whatever was started is stopped before this returns.
    """
    code = EXIT_DONE
    try:
        if settings.http_port and not settings.data_dir.exists():
            # Nothing is made for a start that has to fail.
            check_port(settings.http_port)
        async with _until_signal(announce):
            await _run(settings, announce, steps)
        announce(f"Stopped; the data are in {settings.data_dir.absolute()}.")
    except* ChanceryError as group:
        error = _first(group)
        announce(error.detail)
        code = EXIT_UNAVAILABLE if isinstance(error, Unavailable) else EXIT_REFUSED
    except* OSError as group:
        announce(f"The data folder {settings.data_dir} cannot be used: {_reason(group)}.")
        code = EXIT_REFUSED
    return code


async def _run(settings: UpSettings, announce: Announce, steps: UpSteps) -> None:
    with hold_folder(settings.data_dir) as folder:
        await asyncio.to_thread(stop_left_behind, folder.run)
        _warn_of_new_key(folder, settings, announce)
        for _ in range(PORT_ATTEMPTS - 1):
            try:
                await _attempt(folder, settings, announce, steps)
            except* PortTaken as group:
                announce(f"{_first(group).detail} Starting again.")
        await _attempt(folder, settings, announce, steps)


async def _attempt(
    folder: DataFolder, settings: UpSettings, announce: Announce, steps: UpSteps
) -> None:
    """Run everything until cancelled.

    Raises:
        PortBusy: the port that was asked for is taken.
        ExceptionGroup: with `PortTaken`, when a port that was chosen here is taken before its use.
    """
    port = settings.http_port or free_port()
    if settings.http_port:
        check_port(port)
    servers = await _prepare(folder, settings, announce)
    async with Supervisor(announce, settings.limits) as supervisor:
        await supervisor.start(servers.children)
        wiring = await _wire(folder, settings, steps, servers, port)
        await supervisor.start(service_children(folder, settings, steps, wiring))
        with _told_port(folder, port):
            announce(f"Chancery is ready at http://{LOOPBACK}:{port}")
            await asyncio.Event().wait()


def _warn_of_new_key(folder: DataFolder, settings: UpSettings, announce: Announce) -> None:
    """Say so when a folder that has served loses the key that its receipts are signed with."""
    is_configured = {"CHANCERY_SIGNING_KEY", "CHANCERY_SIGNING_KEY_FILE"} & set(
        settings.environment
    )
    has_served = (folder.path / "token.key").exists()
    if has_served and not is_configured and not (folder.path / "signing.key").exists():
        announce(
            "signing.key is gone: a new key signs from here on, unless you restore the old one."
        )


@contextmanager
def _told_port(folder: DataFolder, port: int) -> Generator[None]:
    """Leave the port in the folder for the command, while the block lasts."""
    path = folder.run / HTTP_PORT_FILE
    write_secret(path, str(port))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def _prepare(folder: DataFolder, settings: UpSettings, announce: Announce) -> _Servers:
    """Decide which servers are ours and make their folders, both at the same time."""
    async with asyncio.TaskGroup() as group:
        bus = group.create_task(asyncio.to_thread(_prepare_nats, folder, settings))
        database = group.create_task(asyncio.to_thread(_prepare_postgres, folder, settings))
    nats_server, postgres_server = bus.result(), database.result()
    children: list[Child] = []
    nats_url, dsn, superuser_dsn = settings.nats_url or "", "", None
    nats_urls: Mapping[str, str] = dict.fromkeys(SERVICES, nats_url)
    if nats_server is not None:
        nats_url, nats_urls = nats_server.url, nats_server.service_urls
        _tell_move(nats_server, announce)
        ports = (nats_server.port, nats_server.http_port)
        children.append(Child(nats_server.spec, nats_server.is_ready, ports))
    if postgres_server is not None:
        dsn, superuser_dsn = postgres_server.dsn(database=postgres.DATABASE), postgres_server.dsn()
        ports = (postgres_server.port,)
        children.append(Child(postgres_server.spec, postgres_server.is_ready, ports))
    if settings.postgres_dsn is not None:
        dsn = settings.postgres_dsn.get_secret_value()
    prefix = nats_server.api_prefix if nats_server is not None else None
    return _Servers(nats_url, nats_urls, prefix, dsn, superuser_dsn, tuple(children))


def _tell_move(server: nats.NatsServer, announce: Announce) -> None:
    if server.port_before is not None:
        announce(
            f"NATS is at port {server.port} now, since {server.port_before} is in use; "
            "who submits over the bus needs that one in the URL."
        )


def _prepare_nats(folder: DataFolder, settings: UpSettings) -> nats.NatsServer | None:
    if settings.nats_url is not None:
        return None
    return nats.prepare(folder.nats, run=folder.run, logs=folder.logs)


def _prepare_postgres(folder: DataFolder, settings: UpSettings) -> postgres.PostgresServer | None:
    if settings.postgres_dsn is not None:
        return None
    return postgres.prepare(folder.postgres, run=folder.run, logs=folder.logs)


async def _wire(
    folder: DataFolder, settings: UpSettings, steps: UpSteps, servers: _Servers, port: int
) -> Wiring:
    """Bring the database and the streams up to date, and say what the services connect to."""
    passwords = role_passwords(folder.postgres / "roles.json")
    async with asyncio.TaskGroup() as group:
        group.create_task(steps.provision(servers.nats_url))
        if servers.superuser_dsn is not None:
            await ensure_database(servers.superuser_dsn)
        await steps.migrate(servers.dsn, passwords)
    roles = {service: runtime_role(service) for service in SERVICES}
    return Wiring(
        nats_urls=servers.nats_urls,
        nats_api_prefix=servers.nats_api_prefix,
        dsns={
            service: runtime_dsn(servers.dsn, role, passwords[role])
            for service, role in roles.items()
        },
        blobs_url=settings.blobs_url or folder.blobs.as_uri(),
        http_port=port,
    )


@asynccontextmanager
async def _until_signal(announce: Announce) -> AsyncGenerator[None]:
    """Cancel the block when one of the signals arrives, and say so."""
    loop = asyncio.get_running_loop()
    scope = asyncio.timeout(None)

    def leave() -> None:
        # The second signal finds the block being left already; that has its own bounds.
        if not scope.expired():
            announce("Stopping.")
            scope.reschedule(loop.time())

    try:
        async with scope:
            for number in _SIGNALS:
                loop.add_signal_handler(number, leave)
            yield
    except TimeoutError:
        if not scope.expired():
            raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _reason(group: ExceptionGroup[OSError]) -> str:
    first = group.exceptions[0]
    if isinstance(first, ExceptionGroup):
        return _reason(first)
    return os.strerror(first.errno).lower() if first.errno else "unknown reason"


def _first(group: ExceptionGroup[ChanceryError]) -> ChanceryError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first
