"""The embedded PostgreSQL alone, of a folder on which no system runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from chancery.embedded import postgres
from chancery.embedded.database import ensure_database, migrate_database, role_passwords
from chancery.embedded.folder import hold_folder
from chancery.embedded.process import stop_left_behind
from chancery.embedded.supervisor import Announce, Child, Supervisor


@asynccontextmanager
async def database_alone(path: Path, announce: Announce) -> AsyncGenerator[str]:
    """Run it, migrated, while the block lasts, and yield the superuser's connection string.

    Raises:
        FolderInUse: a system runs on the folder.
        StartFailed: it did not come up.
    """
    with hold_folder(path) as folder:
        await asyncio.to_thread(stop_left_behind, folder.run)
        server = await asyncio.to_thread(
            postgres.prepare, folder.postgres, run=folder.run, logs=folder.logs
        )
        async with Supervisor(announce) as supervisor:
            await supervisor.start([Child(server.spec, server.is_ready)])
            await ensure_database(server.dsn())
            dsn = server.dsn(database=postgres.DATABASE)
            await migrate_database(dsn, role_passwords(folder.postgres / "roles.json"))
            yield dsn
