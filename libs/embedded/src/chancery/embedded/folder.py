"""The data folder: made on first use, private, and held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chancery.embedded.errors import FolderInUse, FolderNotUsable, NotRunning

HTTP_PORT_FILE = "http.port"
"""In `run`: the port at which the running system answers."""

_CLOSED = 0o700
_PASSABLE = 0o711
"""Root runs PostgreSQL as another account, which must pass through but may not list."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A data folder that this process holds."""

    path: Path

    @property
    def logs(self) -> Path:
        """Where each child writes its log."""
        return self.path / "logs"

    @property
    def run(self) -> Path:
        """What is only true while the children run: process ids, ports, connection strings."""
        return self.path / "run"

    @property
    def nats(self) -> Path:
        """The streams and the credentials of the embedded NATS."""
        return self.path / "nats"

    @property
    def postgres(self) -> Path:
        """The cluster and the passwords of the embedded PostgreSQL."""
        return self.path / "postgres"

    @property
    def blobs(self) -> Path:
        """The bytes of every source and extraction."""
        return self.path / "blobs"


@contextmanager
def hold_folder(path: Path) -> Generator[DataFolder]:
    """Make the folder when it is missing and hold it until the end of the block.

    The lock is the operating system's: it goes with the process, however that ends.

    Raises:
        FolderInUse: when another process holds it.
        FolderNotUsable: when it cannot be made, read or written.
    """
    folder = DataFolder(path.absolute())
    try:
        _make(folder)
        descriptor = os.open(folder.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _not_usable(folder.path, error) from error
    try:
        _lock(descriptor, folder.path)
        # One that was killed left it; whoever listens there now is not told for this one.
        (folder.run / HTTP_PORT_FILE).unlink(missing_ok=True)
        yield folder
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Tell whether a process holds the folder; makes and changes nothing."""
    try:
        descriptor = os.open(path / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def require_running(path: Path) -> None:
    """Go on only when a system runs on the folder.

    Raises:
        NotRunning: none does.
    """
    if not is_held(path):
        message = f"no system runs on {path}; start it with chancery up"
        raise NotRunning(message)


def _make(folder: DataFolder) -> None:
    folder.path.mkdir(mode=_CLOSED, parents=True, exist_ok=True)
    outer = _PASSABLE if os.geteuid() == 0 else _CLOSED
    folder.path.chmod(outer)
    for part in (folder.logs, folder.run, folder.nats, folder.blobs):
        part.mkdir(mode=_CLOSED, exist_ok=True)
    folder.postgres.mkdir(mode=outer, exist_ok=True)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        by = f" by process {holder}" if holder else ""
        message = f"The data folder {path} is in use{by}; stop that one or choose another folder."
        raise FolderInUse(message, field="data_dir") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)


def _not_usable(path: Path, error: OSError) -> FolderNotUsable:
    reason = os.strerror(error.errno).lower() if error.errno else "unknown reason"
    message = (
        f"The data folder {path} cannot be used: {reason}; "
        "make it writable for this account or choose another folder."
    )
    return FolderNotUsable(message, field="data_dir")
