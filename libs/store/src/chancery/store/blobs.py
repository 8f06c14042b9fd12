"""Bytes by their hash: the port that every reader and writer of content uses.

Keys are `<tenant>/<sha256>`, and `<tenant>/runs/<run>/<sha256>` for what a run derived: nothing is
shared across tenants, and erasing a run's bytes cannot take another's.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from chancery.kernel.errors import Corrupt, NotFound, Rejected, TooLarge
from chancery.kernel.ids import ID_PATTERN, derived_id, parse_id

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TENANT = re.compile(ID_PATTERN)
_REMOTE_SCHEMES = frozenset({"s3", "gs", "az", "memory"})


REFRESH_AGE_S: Final = 1800.0
"""Storing what is there already makes it as new again when it is older than this."""


def refresh_age_s(run: str | None) -> float:
    """Return from which age on storing a blob again makes it new: at once among those of a run.

    An upload that is made again serves another submission, however soon that is.
    """
    return REFRESH_AGE_S if run is None else 0.0


class BlobNotFound(NotFound):
    """No blob has this key."""

    code = "blob_not_found"


class BlobTooLarge(TooLarge):
    """The blob is larger than the reader allows."""

    code = "blob_too_large"


class BlobCorrupt(Corrupt):
    """The stored bytes do not have the hash that names them."""

    code = "blob_corrupt"


class Blobs(Protocol):
    """A store of immutable bytes; every method raises `Unavailable` when the store is away.

    Sizes in bytes. `run` chooses the blobs that this run derived; None the tenant's own.
    """

    async def put(self, tenant: str, data: bytes) -> str:
        """Store `data` and return its SHA-256; it is on disk before this returns.

        Storing what is there already changes nothing, except that it is not old any more. What is
        there damaged is replaced at once; whoever is reading it goes on reading what it was.
        """
        ...

    async def put_run(self, tenant: str, run: str, data: bytes) -> str:
        """Store `data` among the blobs that `run` derived and return its SHA-256.

        Storing what is there already makes it as new again, at once, and mends it, as `put` does.
        """
        ...

    async def get(self, tenant: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes, which are at most `limit` and have this hash.

        Raises:
            BlobNotFound: when there are none.
            BlobTooLarge: when there are more; nothing was read then.
            BlobCorrupt: when they have another hash.
        """
        ...

    async def get_run(self, tenant: str, run: str, sha256: str, *, limit: int) -> bytes:
        """Return the bytes that `run` derived; otherwise as `get`."""
        ...

    async def exists(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether a blob has this key."""
        ...

    async def is_intact(self, tenant: str, sha256: str, *, run: str | None = None) -> bool:
        """Tell whether a blob has this key, and its bytes this hash: all of them are read."""
        ...

    async def delete(self, tenant: str, sha256: str, *, run: str | None = None) -> None:
        """Remove the blob; removing what is not there changes nothing."""
        ...

    async def remove_older(
        self, tenant: str, sha256: str, *, before: datetime, run: str | None = None
    ) -> bool:
        """Remove a blob unless it was stored at `before` or since; tell whether it was removed.

        In a folder, what is stored at this very moment stays. An object store cannot look and
        remove at once: what is stored again between the two requests is lost. Where it tells whole
        seconds only, what was stored in the second of `before` stays.
        """
        ...


class Incoming(Protocol):
    """Bytes on their way into a store: in a file until they are kept, so that memory holds few."""

    @property
    def size(self) -> int:
        """Return how many bytes have been written."""
        ...

    async def write(self, data: bytes) -> None:
        """Add `data`; a part of what was written last may wait in memory."""
        ...

    async def read(self) -> bytes:
        """Return everything that was written; the caller finds the room for it."""
        ...

    async def keep(self) -> str:
        """Store everything that was written as one blob, as `put` does, and return its SHA-256."""
        ...


class Receiving(Blobs, Protocol):
    """A store that also takes blobs piece by piece, as they arrive."""

    def receiving(
        self, tenant: str, *, run: str | None = None
    ) -> AbstractAsyncContextManager[Incoming]:
        """Take a blob in; leaving the block without `keep` leaves nothing of it.

        `run` stores it among the blobs that this run derived, None among the tenant's own.
        """
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """A blob that is there, its size in bytes, and when it was stored last."""

    sha256: str
    size: int
    stored_at: datetime


class Stock(Receiving, Protocol):
    """A store of blobs as its operator sees it: what is there, and how old it is."""

    async def tenants(self) -> tuple[str, ...]:
        """Return every tenant that has blobs."""
        ...

    async def held(self, tenant: str, *, run: str | None = None) -> tuple[Held, ...]:
        """Return the tenant's own blobs, or those that `run` derived."""
        ...


def blob_key(tenant: str, sha256: str, run: str | None) -> str:
    """Return the key of a blob.

    Raises:
        Rejected: for an id or a hash that is none.
    """
    parse_id(tenant, field="tenant")
    if _SHA256.fullmatch(sha256) is None:
        message = "sha256 must be 64 lower-case hex digits"
        raise Rejected(message, field="sha256", code="invalid_hash")
    if run is None:
        return f"{tenant}/{sha256}"
    return f"{tenant}/runs/{parse_id(run, field='run')}/{sha256}"


def upload_place(principal: str) -> str:
    """Return where a principal's uploads stand until they are published: the id of no run.

    Each principal has a place of its own, so that knowing a hash gives nobody another's bytes.
    """
    return derived_id("uploads", principal)


def check_bytes(data: bytes, sha256: str) -> bytes:
    """Return `data` when it has this hash.

    Raises:
        BlobCorrupt: when it has another one.
    """
    if hashlib.sha256(data).hexdigest() != sha256:
        message = f"the blob {sha256} does not have the hash that names it"
        raise BlobCorrupt(message)
    return data


def check_size(size: int, limit: int) -> None:
    """Refuse a blob of more than `limit` bytes.

    Raises:
        BlobTooLarge: naming both sizes.
    """
    if size > limit:
        message = f"the blob has {size} bytes; at most {limit} are read here"
        raise BlobTooLarge(message)


def missing(sha256: str) -> BlobNotFound:
    """Return the error for a blob that is not there."""
    return BlobNotFound(f"there is no blob {sha256}")


def is_tenant_folder(name: str) -> bool:
    """Tell whether a name at the top of a store is a tenant's, not that of our own files."""
    return _TENANT.fullmatch(name) is not None


def is_blob_name(name: str) -> bool:
    """Tell whether a name is the hash of a blob."""
    return _SHA256.fullmatch(name) is not None


def open_blobs(url: str) -> Stock:
    """Return the store at `url`: `file:///path`, `s3://`, `gs://`, `az://` or `memory:///`.

    Cloud stores take region, endpoint and credentials from their own usual environment variables.

    Raises:
        Rejected: with field `blobs_url` for any other URL.
    """
    # The adapters import this module for the port; obstore is loaded only where it is used.
    from chancery.store.local_blobs import LocalBlobs  # noqa: PLC0415
    from chancery.store.object_blobs import open_object_blobs  # noqa: PLC0415

    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"} and parts.path:
        return LocalBlobs.at(unquote(parts.path))
    if "@" in parts.netloc:
        message = "blobs_url must not hold credentials; set them in the environment"
        raise Rejected(message, field="blobs_url", code="invalid_blobs_url")
    if parts.scheme in _REMOTE_SCHEMES:
        return open_object_blobs(url)
    message = (
        "blobs_url must be file:///path, s3://bucket, gs://bucket, az://container or memory:///"
    )
    raise Rejected(message, field="blobs_url", code="invalid_blobs_url")
