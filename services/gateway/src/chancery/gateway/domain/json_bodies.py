"""JSON as it may be sent: UTF-8, unique keys, and text that can be stored everywhere."""

from __future__ import annotations

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt, Rejected


def check_json(body: bytes) -> None:
    """Refuse what two readers could understand differently, and what no database takes.

    Raises:
        Rejected: code `malformed_json`.
    """
    try:
        # Text, not bytes: the parser would guess UTF-16 and UTF-32 too.
        value = parse_json(body.decode("utf-8-sig"))
    except (Corrupt, UnicodeDecodeError) as error:
        message = "the body is not valid JSON (UTF-8, unique keys, no NaN)"
        raise Rejected(message, field="body", code="malformed_json") from error
    if not _storable(value):
        message = "the body has a NUL character or half a surrogate pair in a string"
        raise Rejected(message, field="body", code="malformed_json")


def _storable(value: Json) -> bool:
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if "\x00" in item or not _encodable(item):
                return False
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
    return True


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
