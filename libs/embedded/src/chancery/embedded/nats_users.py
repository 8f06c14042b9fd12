"""The users of the embedded NATS: their passwords are drawn once, in a file only its owner reads.

The administrator's stands in `credentials.json`, those of the services and producers in
`users.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chancery.bus.accounts import ADMIN, Producer, create_producer, quoted, render_accounts
from chancery.embedded.errors import SecretDamaged
from chancery.embedded.secret_files import new_password, write_secret
from chancery.events.topology import SERVICES
from chancery.kernel.canonical import Json, canonical_bytes, parse_json
from chancery.kernel.errors import Corrupt, Rejected

ADMIN_FILE = "credentials.json"
USERS_FILE = "users.json"
ACCOUNTS_FILE = "accounts.conf"


@dataclass(frozen=True, slots=True)
class Users:
    """Passwords by user; `producers` are those that submit from outside."""

    admin: str
    services: Mapping[str, str]
    producers: Mapping[Producer, str]

    def password(self, user: str) -> str:
        """Return the password of a user by its name; an unknown name is a bug (KeyError)."""
        named = {producer.user: password for producer, password in self.producers.items()}
        return {ADMIN: self.admin, **self.services, **named}[user]

    def with_producer(self, producer: Producer) -> Users:
        """Return the users with a fresh password for `producer`; an earlier one ends with it."""
        return Users(self.admin, self.services, {**self.producers, producer: new_password()})


def load_users(folder: Path) -> Users:
    """Return the users of the server in `folder`, having drawn what was missing.

    Raises:
        SecretDamaged: when a file is not readable as one; it is never overwritten.
    """
    admin = _admin(folder / ADMIN_FILE)
    found = _read(folder / USERS_FILE)
    kept = _passwords(folder / USERS_FILE, found, "services")
    drawn = {service: kept.get(service) or new_password() for service in SERVICES}
    named = _passwords(folder / USERS_FILE, found, "producers")
    producers = {_producer(folder / USERS_FILE, name): named[name] for name in named}
    users = Users(admin, drawn, producers)
    if drawn != kept:
        write_users(folder, users)
    return users


def write_users(folder: Path, users: Users) -> None:
    """Store the passwords of services and producers."""
    named = {producer.user: password for producer, password in users.producers.items()}
    body: Json = {"services": dict(users.services), "producers": named}
    write_secret(folder / USERS_FILE, canonical_bytes(body).decode())


def write_accounts(folder: Path, users: Users) -> None:
    """Store the accounts as the server's configuration includes them."""
    text = render_accounts(lambda user: quoted(users.password(user)), tuple(users.producers))
    write_secret(folder / ACCOUNTS_FILE, text)


def _admin(path: Path) -> str:
    if not path.exists():
        credentials = {"user": ADMIN, "password": new_password()}
        write_secret(path, canonical_bytes(credentials).decode())
    password = _read(path).get("password")
    if not _is_password(password):
        raise _damaged(path)
    return str(password)


def _passwords(path: Path, found: Mapping[str, Json], part: str) -> dict[str, str]:
    entries = found.get(part, {})
    if not isinstance(entries, Mapping) or not all(map(_is_password, entries.values())):
        raise _damaged(path)
    return {name: str(password) for name, password in entries.items()}


def _read(path: Path) -> Mapping[str, Json]:
    if not path.exists():
        return {}
    try:
        found = parse_json(path.read_bytes())
    except Corrupt as error:
        raise _damaged(path) from error
    if not isinstance(found, Mapping):
        raise _damaged(path)
    return found


def _producer(path: Path, user: str) -> Producer:
    tenant, _, principal = user.partition(".")
    try:
        return create_producer(tenant, principal)
    except Rejected as error:
        raise _damaged(path) from error


def _is_password(value: Json) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalnum()


def _damaged(path: Path) -> SecretDamaged:
    return SecretDamaged(f"{path} holds no credentials; delete it to draw new ones.")
