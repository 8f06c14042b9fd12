"""A real PostgreSQL for tests: one per worker, and fresh databases copied from a template."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from chancery.embedded import postgres as embedded_postgres
from chancery.embedded.database import runtime_dsn
from chancery.kernel.ids import random_id
from chancery.store.migrations import discover, migrate
from chancery.store.pool import connect
from chancery.store.roles import SERVICES, runtime_role
from chancery.testkit.queries import QUERIES
from chancery.testkit.servers import POSTGRES_IMAGE, ServerSettings, Source, postgres_source
from chancery.testkit.starting import start_prepared

_CREATE = QUERIES["render_create_database"]
_DROP = QUERIES["render_drop_database"]

_PORT = 5432
_PRISTINE = "template1"

TEST_PASSWORD = SecretStr("chancery-test")
"""The password of every runtime role in a test cluster."""


@dataclass(frozen=True, slots=True)
class Database:
    """One database of the test cluster."""

    name: str
    superuser_dsn: str

    def dsn(self, service: str) -> str:
        """Return the connection string of a service's runtime role."""
        return runtime_dsn(self.superuser_dsn, runtime_role(service), TEST_PASSWORD)


@contextmanager
def running_postgres(settings: ServerSettings, folder: Path) -> Generator[str]:
    """Yield the superuser's DSN of a server that lives as long as the block."""
    source: Source = postgres_source(settings)
    if settings.postgres_dsn:
        yield settings.postgres_dsn
    elif source == "containers":
        with _container() as dsn:
            yield dsn
    else:
        with _embedded(folder) as dsn:
            yield dsn


async def create_database(server_dsn: str, *, template: str | None = None) -> Database:
    """Create a database with a name of its own, a copy of `template` or an empty one."""
    name = f"test_{random_id().replace('-', '')}"
    async with connect(server_dsn, name="chancery-test") as connection:
        await connection.execute(await connection.fetchval(_CREATE, name, template or _PRISTINE))
    return Database(name, urlunsplit(urlsplit(server_dsn)._replace(path=f"/{name}")))


async def drop_database(server_dsn: str, name: str) -> None:
    """Remove a database and close the connections to it."""
    async with connect(server_dsn, name="chancery-test") as connection:
        await connection.execute(await connection.fetchval(_DROP, name))


async def create_template(server_dsn: str) -> Database:
    """Create a database with the migrations of every service applied."""
    database = await create_database(server_dsn)
    passwords = {runtime_role(service): TEST_PASSWORD for service in SERVICES}
    # Roles belong to the cluster, which several test workers may share.
    with _alone():
        async with connect(database.superuser_dsn, name="chancery-test") as connection:
            await migrate(connection, discover(), passwords=passwords)
    return database


@contextmanager
def _alone() -> Generator[None]:
    path = Path(tempfile.gettempdir()) / "chancery-test-roles.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _embedded(folder: Path) -> Generator[str]:
    server, process = start_prepared(
        lambda: embedded_postgres.prepare(folder, run=folder, logs=folder)
    )
    try:
        yield server.dsn()
    finally:
        process.stop()


@contextmanager
def _container() -> Generator[str]:
    # Loaded only when asked for.
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415

    password = random_id()
    container = (
        DockerContainer(POSTGRES_IMAGE)
        .with_env("POSTGRES_PASSWORD", password)
        .with_exposed_ports(_PORT)
        .waiting_for(LogMessageWaitStrategy("listening on IPv4 address"))
    )
    with container:
        host = container.get_container_host_ip()
        port = container.get_exposed_port(_PORT)
        yield f"postgresql://postgres:{password}@{host}:{port}/postgres"
