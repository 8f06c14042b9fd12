"""Whom PostgreSQL runs as: it refuses root, so root starts it as an account without rights."""

from __future__ import annotations

import os
import pwd
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from chancery.embedded.errors import FolderNotUsable

_NAMES = ("postgres", "_postgres", "nobody")
"""The accounts to run as, the first that exists; every system has the last."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account to run a program as; `reach` keeps the right to pass folders closed to it."""

    uid: int
    gid: int
    reach: bool

    @property
    def argument(self) -> str:
        """How `launch` is told."""
        return f"{self.uid}:{self.gid}:{int(self.reach)}"


def account_for(folder: Path, programs: Path) -> Account | None:
    """Return the account that PostgreSQL runs as, or None for the present one.

    Raises:
        FolderNotUsable: when root's substitute cannot get to the data folder or the programs.
    """
    if os.geteuid() != 0:
        return None
    entry = next(found for name in _NAMES if (found := _lookup(name)) is not None)
    blocked = _first_closed(folder, entry) or _first_closed(programs, entry)
    if blocked is not None and sys.platform != "linux":
        message = (
            f"PostgreSQL cannot run as root, and the account {entry.pw_name} cannot pass "
            f"{blocked}; run this as an ordinary account."
        )
        raise FolderNotUsable(message, field="data_dir")
    return Account(entry.pw_uid, entry.pw_gid, reach=blocked is not None)


def _lookup(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _first_closed(path: Path, entry: pwd.struct_passwd) -> Path | None:
    for folder in (path, *path.parents):
        found = folder.stat()
        owned = found.st_uid == entry.pw_uid and found.st_mode & stat.S_IXUSR
        if not owned and not found.st_mode & stat.S_IXOTH:
            return folder
    return None
