"""Identifiers: their alphabet, their bounds, and how derived ones are computed."""

from __future__ import annotations

import hashlib
import re
import uuid

from chancery.kernel.errors import Rejected

ID_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"
"""The alphabet of every id that becomes a subject token: no dot, no space, at most 64."""

NAMESPACE = uuid.UUID("6f1d7a0e-6a5e-5d0b-9c1e-0f6f6368616e")
"""The UUIDv5 namespace of all derived ids; changing it orphans every stored id."""

_NAMESPACE_BYTES = NAMESPACE.bytes
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
"""The two bits of RFC 9562 in the hex digit that begins the fourth group."""

_ID = re.compile(ID_PATTERN)


def parse_id(value: str, *, field: str) -> str:
    """Return `value` when it is a well-formed id, else refuse it by field name.

    Raises:
        Rejected: with code `invalid_id`; the value itself is not repeated.
    """
    if _ID.fullmatch(value) is None:
        message = f"{field} must be 1 to 64 characters of A-Z, a-z, 0-9, underscore or hyphen"
        raise Rejected(message, field=field, code="invalid_id")
    return value


def derived_id(*parts: str) -> str:
    """Return the UUIDv5 of `parts`, the same for the same parts for ever.

    Parts are length-prefixed, so that ("a", "bc") and ("ab", "c") differ.
    """
    name = "".join([f"{len(part)}:{part}" for part in parts])
    # `uuid.uuid5` does the same, four times as slowly.
    digits = hashlib.sha1(_NAMESPACE_BYTES + name.encode(), usedforsecurity=False).hexdigest()
    variant = _VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def random_id() -> str:
    """Return a fresh random UUIDv4, for things that no idempotency key names."""
    return str(uuid.uuid4())


def resource_key(workspace_id: str, kind: str, resource_id: str) -> str:
    """Return the tenant-wide key of a source, dataset or item that is named inside a workspace.

    Two workspaces may use one name without learning of each other; the key is the last token of the
    aggregate's subject and its id in read sets.
    """
    return derived_id("resource", workspace_id, kind, resource_id)
