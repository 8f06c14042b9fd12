"""Ed25519 signatures of receipt hashes (RFC 8032); what is signed says what it is.

The message is `chancery.receipt/1`, a line feed, and the 32 bytes of the receipt hash: a signature
made for another purpose never passes for one of a receipt.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Rejected

KEY_BYTES: Final = 32
_CONTEXT: Final = b"chancery.receipt/1\n"
_KEYS_REMEMBERED: Final = 2
"""A service signs with one key; making it from its seed costs as much as a signature."""


class InvalidKey(Rejected):
    """The text is no Ed25519 key: 32 bytes, written as 64 hex digits."""

    code = "invalid_key"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private Ed25519 key; its 32 seed bytes never show in a representation."""

    seed: bytes = field(repr=False)

    @classmethod
    def from_hex(cls, text: str) -> SigningKey:
        """Return the key whose seed `text` holds as 64 hex digits, white space around it ignored.

        Raises:
            InvalidKey: for any other text; the text itself is not repeated.
        """
        return cls(_key_bytes(text.strip()))

    @property
    def public_key(self) -> bytes:
        """Return the 32 bytes of the public key."""
        return _public_key(self.seed)

    @property
    def key_id(self) -> str:
        """Return the id that names the public key."""
        return key_id(self.public_key)

    def sign(self, receipt_sha256: str) -> bytes:
        """Return the 64 bytes of the signature over a receipt hash."""
        return self._private().sign(_message(receipt_sha256))

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes for another purpose, which tell nothing of the key or of each other."""
        label = b"chancery.derived/1\n" + purpose.encode()
        return hashlib.blake2b(label, key=self.seed, digest_size=32).digest()

    def _private(self) -> Ed25519PrivateKey:
        return _private_key(self.seed)


def key_id(public_key: bytes) -> str:
    """Return 32 hex digits that name a public key: the start of its SHA-256."""
    return sha256_hex(public_key)[:32]


def is_signed(public_key: bytes, receipt_sha256: str, signature: bytes) -> bool:
    """Tell whether `signature` over the receipt hash was made with the key of `public_key`.

    Raises:
        InvalidKey: when `public_key` is no Ed25519 public key.
    """
    if len(public_key) != KEY_BYTES:
        raise _invalid()
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _message(receipt_sha256))
    except InvalidSignature:
        return False
    return True


def public_key_from_hex(text: str) -> bytes:
    """Return the public key that `text` holds as 64 hex digits.

    Raises:
        InvalidKey: for any other text.
    """
    return _key_bytes(text.strip())


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _private_key(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _public_key(seed: bytes) -> bytes:
    return _private_key(seed).public_key().public_bytes_raw()


def _message(receipt_sha256: str) -> bytes:
    return _CONTEXT + bytes.fromhex(receipt_sha256)


def _key_bytes(text: str) -> bytes:
    try:
        data = bytes.fromhex(text)
    except ValueError:
        raise _invalid() from None
    if len(data) != KEY_BYTES or len(text) != 2 * KEY_BYTES:
        raise _invalid()
    return data


def _invalid() -> InvalidKey:
    message = "an Ed25519 key is 32 bytes, written as 64 hex digits"
    return InvalidKey(message, field="key")
