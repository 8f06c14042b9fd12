"""Content rows as AES-256-GCM ciphertext under a key of their release (NIST SP 800-38D).

Destroying the key erases the content and leaves row, receipt and proof standing.

Nonces: a release has a random key of its own, and a content row is named by (kind, n) once and for
all, so the 96-bit nonce is derived from (kind, n): the same row always gives the same bytes, and
two rows never share a nonce. Never encrypt a second content under one key, kind and n: a new
attempt to seal draws a new key (its salt may stay), because pages of a rolled-back transaction
keep the first ciphertext.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chancery.kernel.canonical import canonical_bytes, exact_bytes
from chancery.kernel.errors import Corrupt

KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_NONCES_REMEMBERED: Final = 256


class SealBroken(Corrupt):
    """The ciphertext does not open under this key in this place."""

    code = "seal_broken"


@dataclass(frozen=True, slots=True)
class ReleaseKey:
    """The secrets of one release: 32 bytes that encrypt, 16 bytes that salts derive from."""

    key: bytes = field(repr=False)
    salt: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Check the lengths, before anything is encrypted under a short key."""
        if len(self.key) != KEY_BYTES or len(self.salt) != SALT_BYTES:
            message = "a release key is 32 bytes and its salt 16"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a content row stands: (kind, number) is unique in a release.

    A ciphertext opens in its own place only.
    """

    tenant: str
    release_id: str
    kind: str
    number: int


def seal(secrets: ReleaseKey, place: Place, content: bytes) -> bytes:
    """Return `content` encrypted and bound to `place`: ciphertext, then the 16-byte tag."""
    return seal_each(secrets, [(place, content)])[0]


def seal_each(secrets: ReleaseKey, contents: Iterable[tuple[Place, bytes]]) -> list[bytes]:
    """Return what `seal` does for each content in its place; the key is made ready once."""
    cipher = AESGCM(secrets.key)
    return [
        cipher.encrypt(_nonce(place.kind, place.number), content, _associated(place))
        for place, content in contents
    ]


def unseal(secrets: ReleaseKey, place: Place, sealed: bytes) -> bytes:
    """Return the exact bytes that were sealed in `place`.

    Raises:
        SealBroken: for another key, another place or altered bytes.
    """
    try:
        return AESGCM(secrets.key).decrypt(
            _nonce(place.kind, place.number), sealed, _associated(place)
        )
    except InvalidTag as error:
        message = "the sealed content does not open in its place"
        raise SealBroken(message) from error


@lru_cache(maxsize=_NONCES_REMEMBERED)
def _nonce(kind: str, number: int) -> bytes:
    name = canonical_bytes(["chancery.nonce/1", kind, number])
    return hashlib.sha256(name).digest()[:_NONCE_BYTES]


def _associated(place: Place) -> bytes:
    return exact_bytes(
        ["chancery.content/1", place.tenant, place.release_id, place.kind, place.number]
    )
