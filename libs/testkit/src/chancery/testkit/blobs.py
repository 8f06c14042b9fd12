"""An in-memory fake of the blob store, which passes the same contract as the real ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from chancery.kernel.canonical import sha256_hex
from chancery.store.blobs import Incoming, blob_key, check_bytes, check_size, missing

NO_BLOB = "0" * 64


@dataclass(frozen=True, slots=True)
class MemoryBlobs:
    """A `Blobs` over a dict; `stored` is open, so that a test can damage what is there.

    `stored_at` says when, as far as a test has set it; everything else was stored long ago.
    """

    stored: dict[str, bytes] = field(default_factory=dict[str, bytes])
    stored_at: dict[str, datetime] = field(default_factory=dict[str, datetime])

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data`; see `Blobs.put`."""
        return self.take(tenant, None, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` of a run; see `Blobs.put_run`."""
        return self.take(tenant, run, data)

    @asynccontextmanager
    async def receiving(self, tenant: str, *, run: str | None = None) -> AsyncGenerator[Incoming]:
        """Take a blob in; see `Receiving.receiving`."""
        blob_key(tenant, NO_BLOB, run)
        yield _Arriving(self, tenant, run)

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes; see `Blobs.get`."""
        return self._get(blob_key(tenant, sha256, None), sha256, limit)

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes of a run; see `Blobs.get_run`."""
        return self._get(blob_key(tenant, sha256, run), sha256, limit)

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether the blob is there; see `Blobs.exists`."""
        return blob_key(tenant, sha256, run) in self.stored

    async def is_intact(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether its bytes are undamaged; see `Blobs.is_intact`."""
        found = self.stored.get(blob_key(tenant, sha256, run))
        return found is not None and sha256_hex(found) == sha256

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        """Remove the blob; see `Blobs.delete`."""
        self.stored.pop(blob_key(tenant, sha256, run), None)

    async def remove_older(
        self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
    ) -> bool:
        """Remove an old blob; see `Blobs.remove_older`."""
        key = blob_key(tenant, sha256, run)
        if key in self.stored_at and self.stored_at[key] >= before:
            return False
        return self.stored.pop(key, None) is not None

    def take(self, tenant: str, run: str | None, data: bytes) -> str:
        """Store `data` among the tenant's own blobs, or those of a run."""
        sha256 = sha256_hex(data)
        self.stored[blob_key(tenant, sha256, run)] = data
        return sha256

    def _get(self, key: str, sha256: str, limit: int) -> bytes:
        if key not in self.stored:
            raise missing(sha256)
        check_size(len(self.stored[key]), limit)
        return check_bytes(self.stored[key], sha256)


@dataclass(slots=True)
class _Arriving:
    """A blob on its way in."""

    blobs: MemoryBlobs
    tenant: str
    run: str | None
    _data: bytearray = field(default_factory=bytearray)

    @property
    def size(self) -> int:
        """Return how many bytes have been written."""
        return len(self._data)

    async def write(self, data: bytes) -> None:
        """Add `data`."""
        self._data += data

    async def read(self) -> bytes:
        """Return everything that was written."""
        return bytes(self._data)

    async def keep(self) -> str:
        """Store it; see `Incoming.keep`."""
        return self.blobs.take(self.tenant, self.run, bytes(self._data))
