"""Blobs in an object store (S3, Google Cloud, Azure) or in memory, through `obstore`.

These stores acknowledge a write once it is durable, so nothing is synced here.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

import obstore
from obstore.exceptions import BaseError
from obstore.store import MemoryStore, from_url

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
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
from chancery.store.spool import Spool

if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta
    from obstore.store import ObjectStore

LISTING_TIMEOUT_S = 600.0
"""How long a listing of many objects may take."""

NO_BLOB = "0" * 64
"""A name beside which a folder's blobs stand."""

OPERATION_TIMEOUT_S = 60.0
"""How long a caller waits for one operation, retries included."""

BYTES_PER_S_MIN = 1024 * 1024
"""How fast a store is expected to take or give a large blob at least."""

PIECE_BYTES = 1024 * 1024
"""How much of an object is hashed at a time."""


@runtime_checkable
class _Lister(Protocol):
    """What the driver's own types say only to those who have Arrow."""

    async def list_with_delimiter_async(
        self, prefix: str | None = None
    ) -> ListResult[Sequence[ObjectMeta]]: ...


@dataclass(frozen=True, slots=True)
class ObjectBlobs:
    """A `Blobs` over one bucket or container."""

    store: ObjectStore

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data`; see `Blobs.put`."""
        return await self._put(tenant, None, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` of a run; see `Blobs.put_run`."""
        return await self._put(tenant, run, data)

    @asynccontextmanager
    async def receiving(self, tenant: str, *, run: str | None = None) -> AsyncGenerator[Incoming]:
        """Take a blob in; see `Receiving.receiving`. It is sent when all of it is here."""
        blob_key(tenant, NO_BLOB, run)
        incoming = _Arriving(self, tenant, run)
        try:
            yield incoming
        finally:
            await incoming.close()

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes; see `Blobs.get`."""
        return await self._get(blob_key(tenant, sha256, None), sha256, limit)

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes of a run; see `Blobs.get_run`."""
        return await self._get(blob_key(tenant, sha256, run), sha256, limit)

    async def _get(self, key: str, sha256: str, limit: int) -> bytes:
        with _translate_errors():
            try:
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    result = await obstore.get_async(self.store, key)
                    check_size(result.meta["size"], limit)
                    data = bytes(await result.bytes_async())
            except FileNotFoundError as error:
                raise missing(sha256) from error
        return check_bytes(data, sha256)

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether the blob is there; see `Blobs.exists`."""
        return await self._head(blob_key(tenant, sha256, run)) is not None

    async def is_intact(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether its bytes are undamaged; see `Blobs.is_intact`."""
        key = blob_key(tenant, sha256, run)
        found = await self._head(key)
        return found is not None and await self._has_its_hash(key, found["size"])

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        """Remove the blob; see `Blobs.delete`."""
        with _translate_errors():
            try:
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    await obstore.delete_async(self.store, blob_key(tenant, sha256, run))
            except FileNotFoundError:
                return

    async def tenants(self) -> tuple[str, ...]:
        """Return every tenant; see `Stock.tenants`."""
        found = await self._listed("")
        names = (str(each).rstrip("/") for each in found["common_prefixes"])
        return tuple(sorted(name for name in names if is_tenant_folder(name)))

    async def held(self, tenant: str, *, run: str | None = None) -> tuple[Held, ...]:
        """Return what is there; see `Stock.held`."""
        found = await self._listed(blob_key(tenant, NO_BLOB, run).removesuffix(NO_BLOB))
        named = ((each["path"].rpartition("/")[2], each) for each in found["objects"])
        return tuple(
            Held(name, each["size"], each["last_modified"])
            for name, each in named
            if is_blob_name(name)
        )

    async def remove_older(
        self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
    ) -> bool:
        """Remove an old blob; see `Stock.remove_older`."""
        found = await self._head(blob_key(tenant, sha256, run))
        if found is None or found["last_modified"] >= _as_told(before, found):
            return False
        await self.delete(tenant, sha256, run=run)
        return True

    async def _listed(self, prefix: str) -> ListResult[Sequence[ObjectMeta]]:
        with _translate_errors():
            async with asyncio.timeout(LISTING_TIMEOUT_S):
                return await _lister(self.store).list_with_delimiter_async(prefix)

    async def _put(self, tenant: str, run: str | None, data: bytes) -> str:
        sha256 = await asyncio.to_thread(sha256_hex, data)
        key = blob_key(tenant, sha256, run)
        if not await self._is_fresh(key, len(data), refresh_age_s(run)):
            with _translate_errors():
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    await obstore.put_async(self.store, key, data)
        return sha256

    async def send(self, key: str, file: BinaryIO, size: int, refresh_after_s: float) -> None:
        """Store the `size` bytes of an open file under `key`, one piece at a time."""
        if await self._is_fresh(key, size, refresh_after_s):
            return
        with _translate_errors():
            async with asyncio.timeout(OPERATION_TIMEOUT_S + size / BYTES_PER_S_MIN):
                await asyncio.to_thread(file.seek, 0)
                await obstore.put_async(self.store, key, file, max_concurrency=1)

    async def _is_fresh(self, key: str, size: int, refresh_after_s: float) -> bool:
        """Tell whether the blob is there undamaged, and not so old that it may be removed."""
        found = await self._head(key)
        if found is None or found["size"] != size or _age_s(found) > refresh_after_s:
            return False
        return await self._has_its_hash(key, size)

    async def _has_its_hash(self, key: str, size: int) -> bool:
        """Read an object a piece at a time, and tell whether it is what its name says."""
        with _translate_errors():
            try:
                async with asyncio.timeout(OPERATION_TIMEOUT_S + size / BYTES_PER_S_MIN):
                    return await self._hashed(key) == key.rpartition("/")[2]
            except FileNotFoundError:
                return False

    async def _hashed(self, key: str) -> str:
        digest = hashlib.sha256()
        result = await obstore.get_async(self.store, key)
        async for piece in result.stream(min_chunk_size=PIECE_BYTES):
            digest.update(piece)
        return digest.hexdigest()

    async def _head(self, key: str) -> ObjectMeta | None:
        with _translate_errors():
            try:
                async with asyncio.timeout(OPERATION_TIMEOUT_S):
                    return await obstore.head_async(self.store, key)
            except FileNotFoundError:
                return None


class _Arriving(Spool):
    """A blob on its way in: in an unnamed file of this machine until it is kept."""

    def __init__(self, blobs: ObjectBlobs, tenant: str, run: str | None) -> None:
        super().__init__()
        self._blobs, self._tenant, self._run = blobs, tenant, run

    async def keep(self) -> str:
        """Store it; see `Incoming.keep`."""
        sha256 = await self.sha256()
        key = blob_key(self._tenant, sha256, self._run)
        file, refresh_after_s = await self.file(), refresh_age_s(self._run)
        await self._blobs.send(key, file, self.size, refresh_after_s)
        return sha256


def _lister(store: object) -> _Lister:
    assert isinstance(store, _Lister), "every store of the driver lists"
    return store


def _age_s(found: ObjectMeta) -> float:
    return (SystemClock().now() - found["last_modified"]).total_seconds()


def _as_told(moment: datetime, found: ObjectMeta) -> datetime:
    """Return a moment as exactly as the store tells when it stored something."""
    return moment if found["last_modified"].microsecond else moment.replace(microsecond=0)


def open_object_blobs(url: str) -> ObjectBlobs:
    """Return the blobs of the bucket, container or memory that `url` names.

    Raises:
        Unavailable: when the store's own settings are not usable.
    """
    if url.startswith("memory:"):
        return ObjectBlobs(MemoryStore())
    with _translate_errors():
        return ObjectBlobs(
            from_url(
                url,
                client_options={
                    # Only where the endpoint of an S3-compatible server says http itself; options
                    # given here hide the variable that would allow it.
                    "allow_http": True,
                    "connect_timeout": timedelta(seconds=5),
                    "timeout": timedelta(seconds=30),
                },
                retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
            )
        )


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except (BaseError, OSError) as error:
        message = "the object store of blobs_url did not answer as expected"
        raise Unavailable(message, code="blobs_unavailable") from error
