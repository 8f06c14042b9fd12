"""Blobs in a folder of this machine, on disk before `put` returns.

obstore's own local store does not sync. Here a blob is written to a partial file, synced, renamed
into place, and then its folder is synced, and so is each folder that had to be made: beside the
file, since the disk does both in the time of one. Blobs that come together share the sync of their
folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.kernel.ids import random_id
from chancery.store.blobs import (
    REFRESH_AGE_S,
    Held,
    blob_key,
    check_bytes,
    check_size,
    is_blob_name,
    is_tenant_folder,
    missing,
)
from chancery.store.lanes import Lanes

T = TypeVar("T")
W = TypeVar("W")

OPERATION_TIMEOUT_S = 30.0
"""How long a caller waits for the disk."""

LISTING_TIMEOUT_S = 600.0
"""How long a listing of a large folder may take."""

NO_BLOB = "0" * 64
"""A name beside which a folder's blobs stand."""

PARTIAL_AGE_MAX_S = 3600.0
"""A partial file older than this was left by a crash."""

_PARTIAL = ".partial"
_SYNCS_AT_ONCE = 4
_READERS = 4
_WRITERS = 4


@dataclass(frozen=True, slots=True)
class _Read:
    path: str
    sha256: str
    limit: int


@dataclass(frozen=True, slots=True)
class _Write:
    root: Path
    tenant: str
    run: str | None
    data: bytes


_SYNCS: Executor = ThreadPoolExecutor(_SYNCS_AT_ONCE, "chancery-sync")


@dataclass(frozen=True, slots=True)
class LocalBlobs:
    """A `Blobs` over one folder."""

    root: Path

    @classmethod
    def at(cls, root: str | Path) -> LocalBlobs:
        """Open the folder, making it when it is missing, and clear what a crash left behind.

        Raises:
            Unavailable: when the folder cannot be made or written.
        """
        path = Path(root)
        with _translate_errors():
            for changed in _make_folders(path / _PARTIAL):
                _sync_folder(changed)
            _clear_partial(path / _PARTIAL)
        return cls(path)

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data`; see `Blobs.put`."""
        return await self._put(tenant, None, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` of a run; see `Blobs.put_run`."""
        return await self._put(tenant, run, data)

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes; see `Blobs.get`."""
        return await self._get(blob_key(tenant, sha256, None), sha256, limit)

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes of a run; see `Blobs.get_run`."""
        return await self._get(blob_key(tenant, sha256, run), sha256, limit)

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether the blob is there; see `Blobs.exists`."""
        path = self.root / blob_key(tenant, sha256, run)
        return await _off_loop(path.is_file)

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        """Remove the blob; see `Blobs.delete`."""
        path = self.root / blob_key(tenant, sha256, run)
        await _off_loop(lambda: _remove(path))

    async def tenants(self) -> tuple[str, ...]:
        """Return every tenant; see `Stock.tenants`."""
        return await _off_loop(lambda: tuple(sorted(_tenants(self.root))))

    async def held(self, tenant: str, *, run: str | None = None) -> tuple[Held, ...]:
        """Return what is there; see `Stock.held`."""
        folder = (self.root / blob_key(tenant, NO_BLOB, run)).parent
        async with asyncio.timeout(LISTING_TIMEOUT_S):
            with _translate_errors():
                return await asyncio.to_thread(lambda: tuple(_held(folder)))

    async def remove_older(
        self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
    ) -> bool:
        """Remove an old blob; see `Stock.remove_older`."""
        path = self.root / blob_key(tenant, sha256, run)
        aside = self.root / _PARTIAL / random_id()
        return await _off_loop(lambda: _remove_older(path, aside, before.timestamp()))

    async def _get(self, key: str, sha256: str, limit: int) -> bytes:
        # Joining a Path would cost as much as the system does to read a small file.
        return await _in_time(_READS.do(_Read(f"{self.root}/{key}", sha256, limit)))

    async def _put(self, tenant: str, run: str | None, data: bytes) -> str:
        return await _in_time(_WRITES.do(_Write(self.root, tenant, run, data)))


async def _off_loop(work: Callable[[], T]) -> T:
    return await _in_time(asyncio.to_thread(work))


async def _in_time(work: Awaitable[T]) -> T:
    with _translate_errors():
        async with asyncio.timeout(OPERATION_TIMEOUT_S):
            return await work


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "it did not answer in time"
        message = f"the blob folder cannot be used: {reason}"
        raise Unavailable(message, code="blobs_unavailable") from error


def _tried(work: Callable[[W], T], item: W) -> T | Exception:
    try:
        return work(item)
    except (OSError, ChanceryError) as error:
        return error


def _read(asked: _Read) -> bytes:
    try:
        with open(asked.path, "rb", buffering=0) as file:  # noqa: PTH123 - see `_get`.
            check_size(os.fstat(file.fileno()).st_size, asked.limit)
            return check_bytes(file.readall(), asked.sha256)
    except FileNotFoundError as error:
        raise missing(asked.sha256) from error


def _write_all(items: Sequence[_Write]) -> list[str | Exception]:
    """Store each blob, then sync each folder once; one that cannot be stored fails alone."""
    found = [_tried(_place, item) for item in items]
    folders = {each.parent for each in found if isinstance(each, Path)}
    synced = {folder: _tried(_sync_folder, folder) for folder in folders}
    return [_outcome(each, synced) for each in found]


def _outcome(found: Path | Exception, synced: Mapping[Path, Exception | None]) -> str | Exception:
    if isinstance(found, Exception):
        return found
    return synced[found.parent] or found.name


def _place(item: _Write) -> Path:
    """Put a blob where it belongs and return the path; its folder is not synced yet."""
    path = item.root / blob_key(item.tenant, sha256_hex(item.data), item.run)
    _write(path, item.data, item.root / _PARTIAL / random_id())
    return path


def _write(path: Path, data: bytes, partial: Path) -> None:
    # A file of this name has synced bytes, but whoever renamed it may not have synced the folder.
    if _renewed(path, len(data)):
        return
    begun = [_SYNCS.submit(_sync_folder, changed) for changed in _make_folders(path.parent)]
    try:
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for sync in begun:
            sync.result()
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _renewed(path: Path, size: int) -> bool:
    """Tell whether the blob is there; it is not old any more then."""
    try:
        found = path.stat()
        if found.st_size != size:
            return False
        if SystemClock().now().timestamp() - found.st_mtime > REFRESH_AGE_S:
            os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _remove_older(path: Path, aside: Path, before_s: float) -> bool:
    """Take a blob away in one step, look at its age then, and put it back when it is new."""
    try:
        if path.stat().st_mtime >= before_s:
            return False
        path.replace(aside)
    except FileNotFoundError:
        return False
    is_old = aside.stat().st_mtime < before_s
    if is_old:
        aside.unlink()
    else:
        aside.replace(path)
    _sync_folder(path.parent)
    return is_old


def _tenants(root: Path) -> Iterator[str]:
    return (each.name for each in root.iterdir() if each.is_dir() and is_tenant_folder(each.name))


def _held(folder: Path) -> Iterator[Held]:
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            if is_blob_name(entry.name) and (found := _stat(entry)) is not None:
                stored_at = datetime.fromtimestamp(found.st_mtime, UTC)
                yield Held(entry.name, found.st_size, stored_at)


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat() if entry.is_file() else None
    except FileNotFoundError:
        return None


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        return
    _sync_folder(path.parent)


def _make_folders(path: Path) -> list[Path]:
    """Make a folder with those above it and return the ones that have a new entry to sync."""
    folders = (path, *path.parents)
    missing_folders = list(takewhile(lambda folder: not folder.is_dir(), folders))
    for folder in reversed(missing_folders):
        folder.mkdir(mode=0o700, exist_ok=True)
    return [folder.parent for folder in missing_folders]


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear_partial(folder: Path) -> None:
    oldest = SystemClock().now().timestamp() - PARTIAL_AGE_MAX_S
    for partial in folder.iterdir():
        if partial.stat().st_mtime < oldest:
            partial.unlink(missing_ok=True)


_READS: Lanes[_Read, bytes] = Lanes(
    lambda items: [_tried(_read, item) for item in items], name="chancery-read", threads=_READERS
)
_WRITES: Lanes[_Write, str] = Lanes(_write_all, name="chancery-write", threads=_WRITERS)
