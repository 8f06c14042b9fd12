"""PostgreSQL connections: opening them with time bounds, transactions, and what an error means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import Conflict, Rejected, Unavailable
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.store")
_READ_DURABILITY = _QUERIES["read_durability"]

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
"""A pool of connections to one database with one role."""

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
"""A connection of one's own or one borrowed from a pool."""

_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.DiskFullError,
    OSError,
    TimeoutError,
)
_LOST_RACE = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)


class NotDurable(Rejected):
    """The server may forget a committed transaction; nothing may be sealed on it."""

    code = "not_durable"


class InvalidDsn(Rejected):
    """The connection string cannot be read."""

    code = "invalid_dsn"


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of a pool; times in seconds."""

    connections_min: int = 1
    connections_max: int = 8
    connect_timeout_s: float = 10.0
    statement_timeout_s: float = 30.0
    lock_timeout_s: float = 10.0


DEFAULT_LIMITS = PoolLimits()


async def open_pool(dsn: str, *, name: str, limits: PoolLimits = DEFAULT_LIMITS) -> Pool:
    """Open a pool; `name` is what the database shows as the application.

    A connection that is given back keeps its session: only `SET LOCAL` and locks of a transaction
    may be used on it. An open transaction is rolled back.

    Raises:
        Unavailable: when the server cannot be reached or does not know the role.
    """
    with translate_errors():
        async with asyncio.timeout(limits.connect_timeout_s):
            return await asyncpg.create_pool(
                dsn,
                min_size=limits.connections_min,
                max_size=limits.connections_max,
                timeout=limits.connect_timeout_s,
                command_timeout=limits.statement_timeout_s,
                server_settings=_server_settings(name, limits),
                init=_use_json,
                reset=_keep_session,
            )


@asynccontextmanager
async def connect(
    dsn: str, *, name: str, limits: PoolLimits = DEFAULT_LIMITS
) -> AsyncGenerator[asyncpg.Connection[asyncpg.Record]]:
    """Open one connection outside any pool and close it at the end.

    Raises:
        Unavailable: when the server cannot be reached or does not know the role.
    """
    with translate_errors():
        connection = await asyncpg.connect(
            dsn,
            timeout=limits.connect_timeout_s,
            command_timeout=limits.statement_timeout_s,
            server_settings=_server_settings(name, limits),
        )
        await _use_json(connection)
    try:
        yield connection
    finally:
        await _close(connection, within_s=limits.connect_timeout_s)


@asynccontextmanager
async def borrow(
    pool: Pool, *, acquire_timeout_s: float = 5.0
) -> AsyncGenerator[PoolConnectionProxy[asyncpg.Record]]:
    """Borrow a connection for single statements, each a transaction of its own.

    Raises:
        Unavailable: when the database is away or too slow.
    """
    with translate_errors():
        async with pool.acquire(timeout=acquire_timeout_s) as connection:
            with _translate_closed(connection):
                yield connection


@asynccontextmanager
async def transaction(
    pool: Pool, *, acquire_timeout_s: float = 5.0
) -> AsyncGenerator[PoolConnectionProxy[asyncpg.Record]]:
    """Borrow a connection and run one READ COMMITTED transaction on it.

    Leaving normally commits; an exception or a cancellation rolls back.

    Raises:
        Unavailable: when the database is away or too slow; after a COMMIT was sent its outcome is
            then unknown, so read back what it would have written.
        Conflict: when the database chose another transaction over this one.
    """
    async with (
        borrow(pool, acquire_timeout_s=acquire_timeout_s) as connection,
        connection.transaction(),
    ):
        yield connection


@contextmanager
def translate_errors() -> Generator[None]:
    """Turn errors of the driver into the kinds of `chancery.kernel.errors`.

    Constraint violations pass unchanged: only the statement's author knows what they mean.
    """
    try:
        yield
    except _LOST_RACE as error:
        message = "another transaction won; read again and retry"
        raise Conflict(message) from error
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        message = "PostgreSQL refused the role or password of the configured DSN"
        raise Unavailable(message, code="database_login") from error
    except asyncpg.InvalidCatalogNameError as error:
        message = "the database named in the configured DSN does not exist"
        raise Unavailable(message, code="database_missing") from error
    except asyncpg.ClientConfigurationError as error:
        message = "the configured DSN is not one: postgresql://role:password@host/database"
        raise InvalidDsn(message, field="CHANCERY_POSTGRES_DSN") from error
    except _AWAY as error:
        message = "PostgreSQL did not answer in time"
        raise Unavailable(message) from error
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        if not _says_lost(error):
            raise
        message = "the connection to PostgreSQL was lost"
        raise Unavailable(message) from error


@contextmanager
def _translate_closed(connection: Connection) -> Generator[None]:
    try:
        yield
    except asyncpg.InterfaceError as error:
        if _is_gone(connection):
            message = "the database closed the connection"
            raise Unavailable(message) from error
        raise


def _says_lost(error: Exception) -> bool:
    # On a connection that breaks under it, the driver complains of its own states.
    is_closed = type(error) is asyncpg.InterfaceError and "clos" in str(error)
    return is_closed or isinstance(error, asyncpg.InternalClientError)


def _is_gone(connection: Connection) -> bool:
    # A pool takes a connection that was lost back by itself, and then every call on it fails.
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True


async def check_durability(connection: Connection) -> None:
    """Refuse a server that acknowledges a commit before it is on disk.

    Raises:
        NotDurable: naming each setting that has to change.
    """
    with translate_errors():
        rows = await connection.fetch(_READ_DURABILITY)
    wrong = [f"{row['name']} is {row['setting']}" for row in rows if not _is_safe(row["setting"])]
    if wrong:
        message = f"PostgreSQL may lose committed rows: {', '.join(sorted(wrong))}; set it to on"
        raise NotDurable(message)


def _is_safe(setting: str) -> bool:
    return setting in {"on", "remote_apply"}


def _server_settings(name: str, limits: PoolLimits) -> dict[str, str]:
    return {
        "application_name": name,
        "timezone": "UTC",
        "statement_timeout": str(round(limits.statement_timeout_s * 1000)),
        "lock_timeout": str(round(limits.lock_timeout_s * 1000)),
        "idle_in_transaction_session_timeout": str(round(limits.statement_timeout_s * 1000)),
    }


async def _keep_session(connection: Connection) -> None:
    """Spare each borrower the driver's four resetting statements, a round trip of their own."""
    del connection


async def _use_json(connection: Connection) -> None:
    for type_name in ("json", "jsonb"):
        await connection.set_type_codec(
            type_name, schema="pg_catalog", encoder=_encode_json, decoder=json.loads
        )


def _encode_json(value: Json) -> str:
    return canonical_bytes(value).decode()


async def _close(connection: asyncpg.Connection[asyncpg.Record], *, within_s: float) -> None:
    try:
        await connection.close(timeout=within_s)
    except (asyncpg.PostgresError, OSError, TimeoutError):
        connection.terminate()
