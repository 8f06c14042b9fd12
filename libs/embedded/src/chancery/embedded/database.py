"""The database of `up`: who logs in as what, and bringing it up to date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from pydantic import SecretStr

from chancery.embedded.errors import SecretDamaged
from chancery.embedded.postgres import DATABASE
from chancery.embedded.secret_files import new_password, write_secret
from chancery.kernel.canonical import canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt
from chancery.store.migrations import discover, migrate
from chancery.store.pool import check_durability, connect
from chancery.store.queries import load_queries
from chancery.store.roles import SERVICES, runtime_role

_QUERIES = load_queries("chancery.embedded")
_DATABASE_EXISTS = _QUERIES["database_exists"]
_RENDER_CREATE_DATABASE = _QUERIES["render_create_database"]


def role_passwords(path: Path) -> dict[str, SecretStr]:
    """Return the password of each runtime role, drawing those that `path` does not hold yet.

    Raises:
        SecretDamaged: when the file holds anything else.
    """
    known = _read(path) if path.exists() else {}
    roles = [runtime_role(service) for service in SERVICES]
    complete = {role: known.get(role) or new_password() for role in roles}
    if complete != known:
        write_secret(path, canonical_bytes(complete).decode())
    return {role: SecretStr(password) for role, password in complete.items()}


def runtime_dsn(dsn: str, role: str, password: SecretStr) -> str:
    """Return `dsn` with another role and password in it; host, database and options stay."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    login = f"{quote(role, safe='')}:{quote(password.get_secret_value(), safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{host}"))


async def ensure_database(dsn: str) -> None:
    """Create the embedded cluster's database when it is missing; `dsn` is the superuser's."""
    async with connect(dsn, name="chancery-up") as connection:
        if not await connection.fetchval(_DATABASE_EXISTS, DATABASE):
            statement: str = await connection.fetchval(_RENDER_CREATE_DATABASE, DATABASE)
            await connection.execute(statement)


async def migrate_database(dsn: str, passwords: Mapping[str, SecretStr]) -> None:
    """Check that commits are durable, then apply the migrations of every installed service."""
    async with connect(dsn, name="chancery-migrate") as connection:
        await check_durability(connection)
        await migrate(connection, discover(), passwords=passwords)


def _read(path: Path) -> dict[str, str]:
    damaged = f"{path} holds no passwords; delete it to draw new ones."
    try:
        found = parse_json(path.read_bytes())
    except Corrupt as error:
        raise SecretDamaged(damaged) from error
    if not isinstance(found, Mapping):
        raise SecretDamaged(damaged)
    return {str(role): str(password) for role, password in found.items()}
