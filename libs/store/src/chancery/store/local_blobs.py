"""Blobs in a folder of this machine, on disk before `put` returns.

obstore's own local store does not sync. Here a blob is written to a partial file, synced, renamed
into place, and then its folder is synced. Blobs that come together share the sync of their folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.kernel.ids import random_id
from chancery.store.blobs import (
    Held,
    Incoming,
    blob_key,
    check_bytes,
    check_size,
    is_blob_name,
    is_tenant_folder,
    missing,
    refresh_age_s,
)
from chancery.store.disk import (
    clear_partial,
    is_intact,
    make_folders,
    put_in_place,
    renewed,
    sync_folder,
)
from chancery.store.lanes import Lanes
from chancery.store.spool import Spool

T = TypeVar("T")
W = TypeVar("W")

OPERATION_TIMEOUT_S = 30.0
"""How long a caller waits for the disk."""

LISTING_TIMEOUT_S = 600.0
"""How long a listing of a large folder may take."""

NO_BLOB = "0" * 64
"""A name beside which a folder's blobs stand."""

_PARTIAL = ".partial"
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
            for changed in make_folders(path / _PARTIAL):
                sync_folder(changed)
            clear_partial(path / _PARTIAL)
        return cls(path)

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data`; see `Blobs.put`."""
        return await self._put(tenant, None, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` of a run; see `Blobs.put_run`."""
        return await self._put(tenant, run, data)

    @asynccontextmanager
    async def receiving(self, tenant: str, *, run: str | None = None) -> AsyncGenerator[Incoming]:
        """Take a blob in; see `Receiving.receiving`."""
        folder = (self.root / blob_key(tenant, NO_BLOB, run)).parent
        partial = self.root / _PARTIAL / random_id()
        incoming = _Partial(folder, partial, refresh_age_s(run))
        try:
            yield incoming
        finally:
            await incoming.end()

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

    async def is_intact(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether its bytes are undamaged; see `Blobs.is_intact`."""
        path = self.root / blob_key(tenant, sha256, run)
        return await _off_loop(lambda: is_intact(path))

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


class _Partial(Spool):
    """A blob on its way in: its file stands among the partial ones until it is kept."""

    def __init__(self, folder: Path, partial: Path, refresh_age_s: float) -> None:
        super().__init__(lambda: partial.open("xb+", buffering=0))
        self._folder = folder
        self._partial = partial
        self._refresh_age_s = refresh_age_s

    async def keep(self) -> str:
        """Store it; see `Incoming.keep`."""
        sha256 = await self.sha256()
        file = await self.file()
        await _off_loop(lambda: self._settle(file, self._folder / sha256))
        return sha256

    async def end(self) -> None:
        """Close the file, and remove it when it was not kept."""
        await self.close()
        await _off_loop(lambda: self._partial.unlink(missing_ok=True))

    def _settle(self, file: BinaryIO, path: Path) -> None:
        # As in `_write`: a blob that is there already may stand in a folder that is not synced.
        if not renewed(path, self.size, self._refresh_age_s):
            put_in_place(file, self._partial, path)
        sync_folder(path.parent)


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
    synced = {folder: _tried(sync_folder, folder) for folder in folders}
    return [_outcome(each, synced) for each in found]


def _outcome(found: Path | Exception, synced: Mapping[Path, Exception | None]) -> str | Exception:
    if isinstance(found, Exception):
        return found
    return synced[found.parent] or found.name


def _place(item: _Write) -> Path:
    """Put a blob where it belongs and return the path; its folder is not synced yet."""
    path = item.root / blob_key(item.tenant, sha256_hex(item.data), item.run)
    # A file of this name has synced bytes, but whoever renamed it may not have synced the folder.
    if not renewed(path, len(item.data), refresh_age_s(item.run)):
        _write(path, item.data, item.root / _PARTIAL / random_id())
    return path


def _write(path: Path, data: bytes, partial: Path) -> None:
    try:
        with partial.open("xb") as file:
            file.write(data)
            put_in_place(file, partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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
    sync_folder(path.parent)
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
    sync_folder(path.parent)


_READS: Lanes[_Read, bytes] = Lanes(
    lambda items: [_tried(_read, item) for item in items], name="chancery-read", threads=_READERS
)
_WRITES: Lanes[_Write, str] = Lanes(_write_all, name="chancery-write", threads=_WRITERS)
