"""Canonical JSON (RFC 8785) and SHA-256: the only way that bytes to be hashed are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import orjson
import rfc8785

from chancery.kernel.errors import Corrupt

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
"""A JSON value, read-only."""

SAFE_INTEGER_MAX = 2**53 - 1
"""The largest integer that canonical JSON carries exactly (RFC 8785, section 3.2.2.3)."""

Encoded: TypeAlias = orjson.Fragment
"""JSON that is in its canonical form already and stands for its value where it is put."""

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_BEYOND_BMP = bytes(range(0xF0, 0xF5))
"""The first bytes in UTF-8 of what UTF-16 writes with surrogates."""

_CONTAINERS = frozenset((dict, list, tuple))
_PLAIN = frozenset((str, bool, int, type(None), *_CONTAINERS))


def canonical_bytes(value: Json) -> bytes:
    """Return the RFC 8785 form of `value` as UTF-8; the same value gives the same bytes.

    Integers beyond 2**53 - 1, NaN and infinities are refused: carry them as text.

    Raises:
        ValueError: for a value that canonical JSON cannot carry.
    """
    if _is_plain(value):
        try:
            return orjson.dumps(value, option=_OPTIONS)
        except orjson.JSONEncodeError:
            pass  # too deep, or no Unicode: rfc8785 does it, or says no
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        message = "the value has no canonical JSON form"
        raise ValueError(message) from error


def exact_bytes(value: Json | Mapping[str, Json | Encoded]) -> bytes:
    """Return what `canonical_bytes` does, for a value that holds no floating-point number.

    Nobody looks for one: use it where types rule them out. Parts may be `Encoded`.

    Raises:
        ValueError: for a value that canonical JSON cannot carry.
    """
    try:
        found = orjson.dumps(value, option=_OPTIONS)
    except orjson.JSONEncodeError as error:
        message = "the value has no canonical JSON form"
        raise ValueError(message) from error
    if found.isascii() or len(found.translate(None, _BEYOND_BMP)) == len(found):
        return found
    # Some key may have another place in the order of UTF-16.
    return canonical_bytes(parse_json(found))


def _is_plain(value: Json) -> bool:
    """Tell whether orjson writes what RFC 8785 demands.

    Nothing is asked of each leaf alone: the types of a container's values are looked at together.
    """
    waiting: list[Json] = [value]
    for each in waiting:
        inside: list[Json]
        if isinstance(each, dict):
            if not _has_plain_keys(each):
                return False
            inside = list(each.values())
        elif isinstance(each, list | tuple):
            inside = list(each)
        else:
            inside = [each]
        kinds = set(map(type, inside))
        if int in kinds and not _are_safe([each for each in inside if type(each) is int]):
            return False
        if not kinds <= _PLAIN:
            return False
        if kinds & _CONTAINERS:
            waiting.extend(item for item in inside if type(item) in _CONTAINERS)
    return True


def _has_plain_keys(value: Mapping[str, Json]) -> bool:
    # In ASCII the order of bytes is the order of UTF-16 that RFC 8785 wants.
    try:
        return "".join(value).isascii()
    except TypeError:
        return False


def _are_safe(integers: Sequence[int]) -> bool:
    return min(integers) >= -SAFE_INTEGER_MAX and max(integers) <= SAFE_INTEGER_MAX


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_hash(value: Json) -> str:
    """Return the SHA-256 of the canonical form of `value`, in hex."""
    return sha256_hex(canonical_bytes(value))


def salted_hash(salt: str, data: bytes) -> str:
    """Return SHA-256 over the salt's bytes followed by `data`, in hex.

    `salt` is 32 hex digits (128 bit): without it a short text could be guessed from its hash.
    """
    return hashlib.sha256(bytes.fromhex(salt) + data).hexdigest()


def parse_json(data: bytes | str) -> Json:
    """Return the JSON value in `data`; duplicate keys, NaN and infinities are refused.

    Raises:
        Corrupt: with code `malformed_json` when `data` is no such JSON.
    """
    encoded = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    try:
        found: Json = orjson.loads(encoded)
        if orjson.dumps(found, option=_OPTIONS) == encoded:
            # Whoever writes the very same bytes has read them whole: no key stood there twice.
            return found
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        pass  # the exact way tells what is wrong, or reads what orjson does not
    return _parsed(data)


def _parsed(data: bytes | str) -> Json:
    try:
        text = data if isinstance(data, str) else _text_of(data)
        value: Json = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        message = "the bytes are not valid JSON"
        raise Corrupt(message, code="malformed_json") from error
    return value


def _text_of(data: bytes) -> str:
    return data.decode(json.detect_encoding(data), "surrogatepass")


def _unique_pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "duplicate key"
        raise ValueError(message)
    return found


def _refuse_constant(name: str) -> Json:
    raise ValueError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)
