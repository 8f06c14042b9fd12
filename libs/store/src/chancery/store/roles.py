"""The roles of the database: an owner nobody logs in as, one role per service, the eraser."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from chancery.kernel.errors import Rejected
from chancery.store.pool import Connection
from chancery.store.queries import load_queries
from chancery.store.scram import scram_verifier

_QUERIES = load_queries("chancery.store")
_READ_ROLES = _QUERIES["read_roles"]
_CREATE_GROUP_ROLE = _QUERIES["render_create_group_role"]
_CREATE_RUNTIME_ROLE = _QUERIES["render_create_runtime_role"]
_SET_PASSWORD = _QUERIES["render_set_password"]
_BECOME_OWNER = _QUERIES["render_become_owner"]
_MAY_BECOME_OWNER = _QUERIES["may_become_owner"]

SERVICES = ("gateway", "ingestion", "indexing", "retrieval", "execution", "release")
"""The services that have a role; a schema, too, when they have migrations."""

OWNER = "chancery_owner"
"""Owns every schema and table; only migrations act as it."""

ERASER = "chancery_eraser"
"""The only role that may delete a release's keys; nobody logs in as it."""


class MissingPassword(Rejected):
    """A runtime role would be created without a password, so its service could not log in."""

    code = "missing_password"


def runtime_role(service: str) -> str:
    """Return the name of the role that `service` logs in as."""
    return f"chancery_{service}"


async def ensure_roles(connection: Connection, passwords: Mapping[str, SecretStr]) -> None:
    """Create the roles that are missing and set the passwords that are given.

    `passwords` maps role names to passwords. A role without one keeps what it has: where the roles
    are made by somebody else, pass none.

    Raises:
        MissingPassword: for a role that neither exists nor has a password here.
    """
    roles = [OWNER, ERASER, *(runtime_role(service) for service in SERVICES)]
    existing = {row["rolname"] for row in await connection.fetch(_READ_ROLES, roles)}
    for role in roles:
        if role not in existing:
            await _create(connection, role, passwords)
    for role, password in passwords.items():
        verifier = scram_verifier(password.get_secret_value())
        await run_rendered(connection, _SET_PASSWORD, role, verifier)
    if not await connection.fetchval(_MAY_BECOME_OWNER, OWNER):
        await run_rendered(connection, _BECOME_OWNER, OWNER)


async def run_rendered(connection: Connection, query: str, *names: str) -> None:
    """Run the statement that `query` renders: names quoted by the server, never by us."""
    statement: str = await connection.fetchval(query, *names)
    await connection.execute(statement)


async def _create(connection: Connection, role: str, passwords: Mapping[str, SecretStr]) -> None:
    if role in {OWNER, ERASER}:
        await run_rendered(connection, _CREATE_GROUP_ROLE, role)
        return
    if role not in passwords:
        message = (
            f"the role {role} does not exist and no password for it is configured; "
            "set CHANCERY_ROLE_PASSWORD to the one that the services shall log in with"
        )
        raise MissingPassword(message, field=role)
    await run_rendered(connection, _CREATE_RUNTIME_ROLE, role)
