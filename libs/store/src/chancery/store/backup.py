"""Backups of the schemas: every table in one snapshot, the keys of content in a file of their own.

A folder holds one subfolder per backup and one file of keys, which each backup replaces: a key that
was erased is gone from every backup with it. A restore fills a migrated and empty database in one
transaction, under the same triggers as any other writer. Transaction ids stay behind: they would
name other transactions there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import BinaryIO, Final

import asyncpg
from pydantic import BaseModel, ConfigDict, ValidationError

from chancery.kernel.errors import Corrupt, NotFound, Rejected
from chancery.store.migrations import NotPermitted
from chancery.store.pool import Connection, PoolLimits, connect, translate_errors
from chancery.store.queries import load_queries
from chancery.store.roles import OWNER, SERVICES, run_rendered

_QUERIES = load_queries("chancery.store")
_LIST_TABLES = _QUERIES["list_tables"]
_LIST_REFERENCES = _QUERIES["list_references"]
_HAS_ROWS = _QUERIES["render_has_rows"]
_EMPTY = _QUERIES["render_empty"]
_MOVE_SEQUENCES = _QUERIES["render_move_sequences"]
_MAKE_ROOM = _QUERIES["render_make_room"]
_ADOPT = _QUERIES["render_adopt"]
_READ_APPLIED = _QUERIES["read_applied"]
_ACT_AS_OWNER = _QUERIES["become_owner"]

KEYS_SCHEMA, KEYS_TABLE, KEYS_OWNER = "release", "release_key", "release"
KEYS_FILE: Final = "keys.copy"
MANIFEST: Final = "manifest.json"
SEEDED: Final = frozenset({("release", "live_set")})
"""Tables that a migration fills; a restore replaces what they hold."""
LIMITS: Final = PoolLimits(statement_timeout_s=3600.0)
NAME: Final = "chancery-backup"
_PRIVATE = 0o700
_SECRET = 0o600


class NotEmpty(Rejected):
    """The database holds rows; a restore never mixes two histories."""

    code = "database_not_empty"


class NotMigrated(Rejected):
    """The database has none of the schemas."""

    code = "not_migrated"


class BackupDamaged(Corrupt):
    """A file of the backup is missing, or not the one that was written."""

    code = "backup_damaged"


class SavedTable(BaseModel):
    """One table of a backup."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_name: str
    name: str
    columns: tuple[str, ...]
    sha256: str

    @property
    def file(self) -> str:
        """Return the name of its file."""
        return f"{self.schema_name}.{self.name}.copy"


class Manifest(BaseModel):
    """What a backup holds, in the order in which it can be restored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    version: int = 1
    migrations: tuple[str, ...]
    tables: tuple[SavedTable, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    schema: str
    name: str
    columns: tuple[str, ...]


async def backup(dsn: str, folder: Path, label: str) -> Manifest:
    """Write a backup called `label` into `folder`, and the keys of content beside it.

    Raises:
        Rejected: there is a backup of that name.
        NotMigrated: there is nothing to save.
        NotPermitted: the role may not read everything.
        Unavailable: the database is away.
    """
    unfinished = _begin(folder, label)
    async with connect(dsn, name=NAME, limits=LIMITS) as db, _reading(db):
        manifest = await _save(db, unfinished)
        await _save_keys(db, unfinished)
    _finish(folder, label, manifest)
    return manifest


async def restore(dsn: str, folder: Path, label: str) -> Manifest:
    """Fill a migrated, empty database from a backup and the newest keys.

    Raises:
        NotFound: there is no such backup.
        NotEmpty: the database holds rows.
        BackupDamaged: a file is not the one that was written.
        NotMigrated: the database has no tables.
        NotPermitted: the role may not fill everything.
        Rejected: the database lacks migrations that the backup had.
        Unavailable: the database is away.
    """
    source = folder / label
    manifest = _read_manifest(source)
    async with connect(dsn, name=NAME, limits=LIMITS) as db, _writing(db):
        await _check_migrations(db, manifest)
        await db.execute(_ACT_AS_OWNER, OWNER, KEYS_SCHEMA)
        await _make_empty(db)
        for table in manifest.tables:
            await _load(db, source, table)
        await _load_keys(db, folder / KEYS_FILE)
        for row in await db.fetch(_MOVE_SEQUENCES, list(SERVICES)):
            await db.execute(row["statement"])
    return manifest


def labels(folder: Path) -> Sequence[str]:
    """Return the names of the finished backups in a folder."""
    return sorted(path.parent.name for path in folder.glob(f"[!.]*/{MANIFEST}"))


@asynccontextmanager
async def _reading(db: Connection) -> AsyncGenerator[None]:
    with translate_errors(), _permitted():
        async with db.transaction(isolation="repeatable_read", readonly=True):
            yield


@asynccontextmanager
async def _writing(db: Connection) -> AsyncGenerator[None]:
    with translate_errors(), _permitted():
        async with db.transaction():
            yield


@contextmanager
def _permitted() -> Generator[None]:
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        message = "the role may not read and fill every table; name the one that migrates"
        raise NotPermitted(message, field="CHANCERY_POSTGRES_DSN") from error


def _begin(folder: Path, label: str) -> Path:
    if (folder / label).exists():
        message = f"there is a backup {label} already; choose another name"
        raise Rejected(message, field="label", code="backup_exists")
    folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    unfinished = folder / f".{label}.unfinished"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    unfinished.mkdir(mode=_PRIVATE)
    return unfinished


def _finish(folder: Path, label: str, manifest: Manifest) -> None:
    """Give the backup its name and put the keys in the place of the older ones."""
    unfinished = folder / f".{label}.unfinished"
    (unfinished / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    (unfinished / KEYS_FILE).replace(folder / KEYS_FILE)
    unfinished.rename(folder / label)


async def _save(db: Connection, folder: Path) -> Manifest:
    saved: list[SavedTable] = []
    for table in await _tables(db):
        if (table.schema, table.name) == (KEYS_SCHEMA, KEYS_TABLE):
            continue
        path = folder / f"{table.schema}.{table.name}.copy"
        await _copy_out(db, table, path)
        saved.append(
            SavedTable(
                schema_name=table.schema,
                name=table.name,
                columns=table.columns,
                sha256=_sha256(path),
            )
        )
    return Manifest(migrations=await _migrations(db), tables=tuple(saved))


async def _save_keys(db: Connection, folder: Path) -> None:
    for table in await _tables(db):
        if (table.schema, table.name) == (KEYS_SCHEMA, KEYS_TABLE):
            await _copy_out(db, table, folder / KEYS_FILE)


async def _copy_out(db: Connection, table: _Table, path: Path) -> None:
    with _created(path) as file:
        await db.copy_from_table(
            table.name,
            schema_name=table.schema,
            columns=list(table.columns),
            output=file,
            format="binary",
        )
        file.flush()
        os.fsync(file.fileno())


def _created(path: Path) -> BinaryIO:
    """Open a new file that only its owner reads."""
    path.touch(mode=_SECRET, exist_ok=False)
    return path.open("wb")


async def _tables(db: Connection) -> list[_Table]:
    """Return the tables, each behind those whose rows it needs."""
    rows = await db.fetch(_LIST_TABLES, list(SERVICES))
    found = {
        (row["schema"], row["name"]): _Table(row["schema"], row["name"], tuple(row["columns"]))
        for row in rows
    }
    needs: dict[tuple[str, str], set[tuple[str, str]]] = {name: set() for name in found}
    for row in await db.fetch(_LIST_REFERENCES, list(SERVICES)):
        needs[row["schema"], row["name"]].add((row["needs_schema"], row["needs_name"]))
    return [found[name] for name in TopologicalSorter(needs).static_order()]


async def _migrations(db: Connection) -> tuple[str, ...]:
    try:
        rows = await db.fetch(_READ_APPLIED)
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
        message = "the database holds no tables of ours; run chancery migrate first"
        raise NotMigrated(message) from error
    return tuple(sorted("/".join(str(value) for value in tuple(row)) for row in rows))


async def _check_migrations(db: Connection, manifest: Manifest) -> None:
    missing = sorted(set(manifest.migrations) - set(await _migrations(db)))
    if missing:
        lacking = f"the database lacks {len(missing)} migrations of the backup"
        message = f"{lacking}; run chancery migrate first"
        raise Rejected(message, code="migrations_missing")


async def _make_empty(db: Connection) -> None:
    tables = await _tables(db)
    for table in tables:
        if (table.schema, table.name) in SEEDED:
            continue
        statement: str = await db.fetchval(_HAS_ROWS, table.schema, table.name)
        if await db.fetchval(statement):
            message = f"{table.schema}.{table.name} holds rows; restore into an empty database"
            raise NotEmpty(message)
    for schema, name in SEEDED:
        await run_rendered(db, _EMPTY, schema, name)


async def _load(db: Connection, folder: Path, table: SavedTable) -> None:
    path = folder / table.file
    if not path.exists() or _sha256(path) != table.sha256:
        message = f"{table.file} is missing or not the file that was written"
        raise BackupDamaged(message)
    with path.open("rb") as file:
        await db.copy_to_table(
            table.name,
            schema_name=table.schema_name,
            columns=list(table.columns),
            source=file,
            format="binary",
        )


async def _load_keys(db: Connection, path: Path) -> None:
    """Take the newest keys, of the releases that were restored."""
    _require(path)
    await run_rendered(db, _MAKE_ROOM, KEYS_SCHEMA, KEYS_TABLE)
    with path.open("rb") as file:
        await db.copy_to_table("restored", source=file, format="binary")
    await run_rendered(db, _ADOPT, KEYS_SCHEMA, KEYS_TABLE, KEYS_OWNER)


def _require(path: Path) -> None:
    if not path.exists():
        message = f"{path.name} is missing: without the keys no content can be read"
        raise BackupDamaged(message)


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.exists():
        message = f"there is no backup {folder.name}"
        raise NotFound(message, field="label", code="backup_not_found")
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        message = f"{MANIFEST} of the backup cannot be read"
        raise BackupDamaged(message) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
