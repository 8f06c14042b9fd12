"""Forward-only migrations: `sql/migrations/NNNN_name.sql` of each service, applied once, in order.

Each file runs in one transaction as the owner, with its service's schema as the search path, and
grants its own tables to its own runtime role by name. What was applied is kept with its hash: a
file that changed afterwards is refused. Migrations that the database knows and this version does
not are left alone, so that one can roll back to the previous version.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import asyncpg
from pydantic import SecretStr

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Corrupt, Rejected
from chancery.store.pool import Connection, translate_errors
from chancery.store.queries import load_queries
from chancery.store.roles import OWNER, SERVICES, ensure_roles, run_rendered, runtime_role

_QUERIES = load_queries("chancery.store")
_LOCK = _QUERIES["lock_migrations"]
_UNLOCK = _QUERIES["unlock_migrations"]
_CREATE_SCHEMA = _QUERIES["render_create_schema"]
_GRANT_USAGE = _QUERIES["render_grant_usage"]
_CLOSE_PUBLIC = _QUERIES["close_public_schema"]
_ACT_AS_OWNER = _QUERIES["become_owner"]
_CREATE_TABLE = _QUERIES["create_migration_table"]
_READ_APPLIED = _QUERIES["read_applied"]
_INSERT_APPLIED = _QUERIES["insert_applied"]

_META_SCHEMA = "chancery_meta"
_FILE = re.compile(r"(\d{4})_([a-z0-9][a-z0-9_]*)\.sql")

MIGRATION_TIMEOUT_S = 600.0
"""How long one migration may run."""


class MigrationDrift(Corrupt):
    """The migrations of the code and those of the database contradict each other."""

    code = "migration_drift"


class MigrationFailed(Corrupt):
    """PostgreSQL refused a migration; nothing of it was kept."""

    code = "migration_failed"


class NotPermitted(Rejected):
    """The role that migrates lacks a right it needs."""

    code = "migration_not_permitted"


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file; `number` counts from 1 per service, without gaps."""

    service: str
    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The hash that is kept when the migration is applied."""
        return sha256_hex(self.sql.encode())

    @property
    def label(self) -> str:
        """How messages call it: `release/0001_tables`."""
        return f"{self.service}/{self.number:04d}_{self.name}"


def discover(services: Sequence[str] = SERVICES) -> tuple[Migration, ...]:
    """Return the migrations that the installed service packages bring, in order per service.

    Raises:
        MigrationDrift: for a file whose name is not `NNNN_name.sql`, or a gap in the numbers.
    """
    found: list[Migration] = []
    for service in services:
        folder = resources.files(f"chancery.{service}").joinpath("sql").joinpath("migrations")
        if folder.is_dir():
            found.extend(read_migrations(service, folder))
    return tuple(found)


def read_migrations(service: str, folder: Traversable) -> list[Migration]:
    """Return the migrations in `folder`, in order.

    Raises:
        MigrationDrift: see `discover`.
    """
    files = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".sql")),
        key=lambda item: item.name,
    )
    migrations = [_read(service, item) for item in files]
    for expected, migration in enumerate(migrations, start=1):
        if migration.number != expected:
            message = f"{migration.label}: expected number {expected:04d} here"
            raise MigrationDrift(message)
    return migrations


async def migrate(
    connection: Connection,
    migrations: Sequence[Migration],
    *,
    passwords: Mapping[str, SecretStr],
) -> tuple[Migration, ...]:
    """Bring roles, schemas and tables up to date; return what was applied now.

    The connecting role is a superuser, or it has CREATEROLE and owns the database. Several callers
    may run this at once: an advisory lock lets one through after the other.

    Raises:
        MigrationDrift: when an applied file has changed; nothing is applied then.
        MigrationFailed: naming the migration; those before it stay applied.
        NotPermitted: when the connecting role may not make roles or schemas.
        Unavailable: when the database is away.
    """
    with translate_errors():
        async with _turn(connection):
            await _prepare(connection, migrations, passwords)
            waiting = _waiting(migrations, await _applied(connection))
            for migration in waiting:
                await _apply(connection, migration)
    return tuple(waiting)


def _read(service: str, item: Traversable) -> Migration:
    match = _FILE.fullmatch(item.name)
    if match is None:
        message = f"{service}: the migration file {item.name!r} is not named NNNN_name.sql"
        raise MigrationDrift(message)
    text = item.read_text(encoding="utf-8").replace("\r\n", "\n")
    return Migration(service, int(match[1]), match[2], text)


@asynccontextmanager
async def _turn(connection: Connection) -> AsyncGenerator[None]:
    await connection.execute(_LOCK)
    try:
        yield
    finally:
        if not connection.is_closed():
            await connection.execute(_UNLOCK)


async def _prepare(
    connection: Connection, migrations: Sequence[Migration], passwords: Mapping[str, SecretStr]
) -> None:
    try:
        async with connection.transaction():
            await ensure_roles(connection, passwords)
            await _ensure_schemas(connection, migrations)
    except asyncpg.InsufficientPrivilegeError as error:
        message = (
            "the role that migrates may not make roles and schemas; "
            "give it CREATEROLE and the ownership of the database"
        )
        raise NotPermitted(message, field="postgres_dsn") from error


async def _ensure_schemas(connection: Connection, migrations: Sequence[Migration]) -> None:
    await connection.execute(_CLOSE_PUBLIC)
    await run_rendered(connection, _CREATE_SCHEMA, _META_SCHEMA, OWNER)
    for service in sorted({migration.service for migration in migrations}):
        await run_rendered(connection, _CREATE_SCHEMA, service, OWNER)
        await run_rendered(connection, _GRANT_USAGE, service, runtime_role(service))
    await connection.execute(_ACT_AS_OWNER, OWNER, _META_SCHEMA)
    await connection.execute(_CREATE_TABLE)


async def _applied(connection: Connection) -> dict[tuple[str, int], str]:
    async with connection.transaction():
        await connection.execute(_ACT_AS_OWNER, OWNER, _META_SCHEMA)
        rows = await connection.fetch(_READ_APPLIED)
    return {(row["service"], row["number"]): row["sha256"] for row in rows}


def _waiting(
    migrations: Sequence[Migration], applied: Mapping[tuple[str, int], str]
) -> list[Migration]:
    waiting: list[Migration] = []
    for migration in migrations:
        sha256 = applied.get((migration.service, migration.number))
        if sha256 is None:
            waiting.append(migration)
        elif sha256 != migration.sha256:
            message = f"{migration.label} was changed after it had been applied; add a new one"
            raise MigrationDrift(message)
    return waiting


async def _apply(connection: Connection, migration: Migration) -> None:
    try:
        with translate_errors():
            await _apply_in_transaction(connection, migration)
    except asyncpg.PostgresError as error:
        message = f"{migration.label} failed with SQLSTATE {error.sqlstate}; nothing of it was kept"
        raise MigrationFailed(message) from error


async def _apply_in_transaction(connection: Connection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(_ACT_AS_OWNER, OWNER, migration.service)
        await connection.execute(migration.sql, timeout=MIGRATION_TIMEOUT_S)
        if not connection.is_in_transaction():
            message = f"{migration.label} ends its transaction; leave COMMIT and ROLLBACK out"
            raise MigrationDrift(message)
        await connection.execute(_ACT_AS_OWNER, OWNER, _META_SCHEMA)
        await connection.execute(
            _INSERT_APPLIED,
            migration.service,
            migration.number,
            migration.name,
            migration.sha256,
        )
