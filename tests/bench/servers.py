"""The servers of a bench that starts no whole system: NATS and PostgreSQL, both syncing writes."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chancery.store.pool import connect
from chancery.store.queries import load_queries
from chancery.testkit.nats import running_nats
from chancery.testkit.postgres import Database, create_template, running_postgres
from chancery.testkit.servers import ServerSettings, run_apart

SERVICE: Final = "release"

_READ_VERSION = load_queries("tests.bench")["read_version"]


@dataclass(frozen=True, slots=True)
class Servers:
    """Fresh servers: NATS without streams, a database with every migration, a folder for blobs."""

    nats_url: str
    database: Database
    folder: Path

    @property
    def dsn(self) -> str:
        """Return the connection string of release's runtime role."""
        return self.database.dsn(SERVICE)

    async def version(self) -> str:
        """Return the version of PostgreSQL."""
        async with connect(self.database.superuser_dsn, name="bench") as connection:
            return str(await connection.fetchval(_READ_VERSION))


@contextmanager
def running_servers() -> Generator[Servers]:
    """Start both in a temporary folder; leave nothing behind."""
    settings = ServerSettings()
    with tempfile.TemporaryDirectory(prefix="chancery-bench-") as temporary:
        folders = [Path(temporary) / name for name in ("nats", "postgres", "blobs")]
        for folder in folders:
            folder.mkdir()
        with (
            running_nats(settings, folders[0]) as nats,
            running_postgres(settings, folders[1]) as dsn,
        ):
            yield Servers(nats.url, run_apart(create_template(dsn)), folders[2])
