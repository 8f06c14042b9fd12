"""An in-memory fake of the blob store, which passes the same contract as the real ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from chancery.kernel.canonical import sha256_hex
from chancery.store.blobs import blob_key, check_bytes, check_size, missing


@dataclass(frozen=True, slots=True)
class MemoryBlobs:
    """A `Blobs` over a dict; `stored` is open, so that a test can damage what is there."""

    stored: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data`; see `Blobs.put`."""
        return self._put(tenant, None, data)

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` of a run; see `Blobs.put_run`."""
        return self._put(tenant, run, data)

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes; see `Blobs.get`."""
        return self._get(blob_key(tenant, sha256, None), sha256, limit)

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes of a run; see `Blobs.get_run`."""
        return self._get(blob_key(tenant, sha256, run), sha256, limit)

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether the blob is there; see `Blobs.exists`."""
        return blob_key(tenant, sha256, run) in self.stored

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        """Remove the blob; see `Blobs.delete`."""
        self.stored.pop(blob_key(tenant, sha256, run), None)

    def _put(self, tenant: str, run: str | None, data: bytes) -> str:
        sha256 = sha256_hex(data)
        self.stored.setdefault(blob_key(tenant, sha256, run), data)
        return sha256

    def _get(self, key: str, sha256: str, limit: int) -> bytes:
        if key not in self.stored:
            raise missing(sha256)
        check_size(len(self.stored[key]), limit)
        return check_bytes(self.stored[key], sha256)
