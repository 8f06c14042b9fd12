"""What a request says that its body hashes to, and whether that is so.

*Source*: RFC 9530, sections 2, 3 and 5; the fields are dictionaries of RFC 9651, section 3.2. A
body is taken as it is, never encoded and never in part, so that both fields mean the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from chancery.kernel.errors import Rejected


class Hash(Protocol):
    """A hash of bytes that come piece by piece."""

    def update(self, data: bytes, /) -> None:
        """Add `data`."""
        ...

    def digest(self) -> bytes:
        """Return the hash of everything that was added."""
        ...


FIELDS: Final = ("Content-Digest", "Repr-Digest")

_VERIFIED: Final[dict[str, Callable[[], Hash]]] = {
    "sha-256": hashlib.sha256,
    "sha-512": hashlib.sha512,
}
"""The algorithms of the registry that are safe; one that is not known here is passed over."""

_KEY: Final = r"[a-z*][a-z0-9_.*-]*"
_ITEM: Final = r'(?:"(?:[^"\\]|\\.)*"|:[A-Za-z0-9+/=]*:|[A-Za-z0-9*?@-][^\s,;"]*)'
_MEMBER: Final = re.compile(
    rf"({_KEY})(?:=({_ITEM}))?(?: *; *{_KEY}(?:={_ITEM})?)*[ \t]*(?:,[ \t]*(?=[a-z*])|\Z)"
)


@dataclass(frozen=True, slots=True)
class SentDigest:
    """One hash that a field states."""

    field: str
    algorithm: str
    value: bytes


class SentDigests:
    """Hashes a body while it arrives, by the algorithms of what was stated of it."""

    def __init__(self, stated: Sequence[SentDigest] = ()) -> None:
        """Begin with nothing of the body."""
        self._stated = stated
        self._hashes = {each.algorithm: _VERIFIED[each.algorithm]() for each in stated}

    def add(self, piece: bytes) -> None:
        """Add the next piece of the body."""
        for each in self._hashes.values():
            each.update(piece)

    def check(self) -> None:
        """Refuse a whole body that is not the one of which the digests were stated.

        Raises:
            Rejected: code `digest_mismatch`, naming the field.
        """
        for each in self._stated:
            if self._hashes[each.algorithm].digest() != each.value:
                message = (
                    f"the body does not have the {each.algorithm} that {each.field} states;"
                    " nothing of it was kept, so send it again"
                )
                raise Rejected(message, field=each.field, code="digest_mismatch")


def sent_digests(field: str, value: str) -> tuple[SentDigest, ...]:
    """Return what a field states, as far as it is verified.

    Raises:
        Rejected: code `invalid_digest` for a field, or a digest, that cannot be read.
    """
    read = dict(_members(field, value.strip()))
    return tuple(
        SentDigest(field, algorithm, _digest(field, item))
        for algorithm, item in read.items()
        if algorithm in _VERIFIED
    )


def _members(field: str, value: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(value):
        found = _MEMBER.match(value, at)
        if found is None:
            raise _unreadable(field)
        yield found[1], found[2] or ""
        at = found.end()


def _digest(field: str, item: str) -> bytes:
    if not item.startswith(":"):
        raise _unreadable(field)
    try:
        return b64decode(item.strip(":"), validate=True)
    except Error as error:
        raise _unreadable(field) from error


def _unreadable(field: str) -> Rejected:
    message = f"{field} must be like sha-256=:BASE64:"
    return Rejected(message, field=field, code="invalid_digest")
