"""`backup` and `restore`: the schemas of a database, to a folder and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from chancery.client.command.arguments import given_id
from chancery.client.command.output import tell, tell_json, tell_progress
from chancery.client.command.settings import CommandSettings, InvalidSetting, load_settings
from chancery.embedded.database_alone import database_alone
from chancery.embedded.folder import require_running
from chancery.embedded.ports import LOOPBACK
from chancery.embedded.postgres import DATABASE, SUPERUSER
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import NotFound
from chancery.store.backup import NotEmpty, backup, labels, restore

_PORT_LINE = 3


async def run_backup(folder: Path, data_dir: Path | None, *, as_json: bool) -> None:
    """Write a backup named after the moment."""
    settings = load_settings()
    label = SystemClock().now().strftime("%Y%m%dT%H%M%SZ")
    manifest = await backup(_dsn(settings, data_dir), folder, label)
    if as_json:
        tell_json({"label": label, "tables": len(manifest.tables)})
        return
    tell(f"backup {label}: {len(manifest.tables)} tables, and the keys of their content beside it")
    tell("back up the NATS store and the blobs too: the log is not in the database")


async def run_restore(
    folder: Path, label: str | None, data_dir: Path | None, *, as_json: bool
) -> None:
    """Restore a backup, the newest when none is named.

    Raises:
        NotFound: there is no such backup.
        FolderInUse: a system runs on the data folder.
    """
    if label is not None:
        given_id(label, field="--label")
    settings = load_settings()
    found = labels(folder)
    if label is None and not found:
        message = f"there is no backup in {folder}"
        raise NotFound(message, field="folder", code="backup_not_found")
    chosen = found[-1] if label is None else label
    async with _target(settings, data_dir or settings.data_dir) as dsn:
        manifest = await restore(dsn, folder, chosen)
    if as_json:
        tell_json({"label": chosen, "tables": len(manifest.tables)})
        return
    tell(f"restored {chosen}: {len(manifest.tables)} tables")
    tell("release answers when its projections have caught up with the log")


@asynccontextmanager
async def _target(settings: CommandSettings, folder: Path) -> AsyncGenerator[str]:
    """Yield the DSN that is set, or that of the data folder's PostgreSQL, started for the block."""
    if settings.postgres_dsn is not None:
        yield settings.postgres_dsn.get_secret_value()
        return
    async with database_alone(folder, tell_progress) as dsn:
        try:
            yield dsn
        except NotEmpty as error:
            message = f"{folder / 'postgres'} holds rows; move that folder away and restore again"
            raise NotEmpty(message, field="--data-dir") from error


def _dsn(settings: CommandSettings, data_dir: Path | None) -> str:
    """Return the DSN that is set, or the superuser's of the system that runs in the data folder.

    Raises:
        NotRunning: there is neither.
        InvalidSetting: the database of the system that runs is another one.
    """
    if settings.postgres_dsn is not None:
        return settings.postgres_dsn.get_secret_value()
    require_running(data_dir or settings.data_dir)
    folder = (data_dir or settings.data_dir) / "postgres"
    try:
        password = (folder / "superuser.password").read_text(encoding="ascii").strip()
        lines = (folder / "cluster" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        port = int(lines[_PORT_LINE])
    except (OSError, ValueError, IndexError) as error:
        message = "set CHANCERY_POSTGRES_DSN to the role that migrates"
        raise InvalidSetting(message, field="CHANCERY_POSTGRES_DSN") from error
    return f"postgresql://{SUPERUSER}:{password}@{LOOPBACK}:{port}/{DATABASE}"
