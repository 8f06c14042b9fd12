"""JSON as it may be sent: UTF-8, unique keys, and text that can be stored everywhere."""

from __future__ import annotations

from typing import Final

from chancery.kernel.canonical import Json, parse_json
from chancery.kernel.errors import Corrupt, Rejected

VALUES_MAX: Final = 80_000
"""How many names and values a body may have; the largest declaration of a dataset has 62,000.

All of them are looked at before anything is said of one.
"""

NAMES_MAX: Final = 1000
"""How many names one object may have; the columns of a dataset, at most 500, are the most.

Each of them may be wrong, and whoever checks an object makes an error of each before one is told.
Of a list only the first wrong entry is (`Many`).
"""


def check_json(body: bytes) -> None:
    """Refuse what two readers could understand differently, and what no database takes.

    Raises:
        Rejected: code `malformed_json`, or `too_many_values`.
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
    left = VALUES_MAX
    while pending:
        if len(pending) > left:
            raise _too_many(f"the body has more than {VALUES_MAX:,} names and values")
        left -= 1
        item = pending.pop()
        if isinstance(item, str):
            if "\x00" in item or not _encodable(item):
                return False
        elif isinstance(item, dict):
            if len(item) > NAMES_MAX:
                raise _too_many(f"an object of the body has more than {NAMES_MAX:,} names")
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
    return True


def _too_many(what: str) -> Rejected:
    return Rejected(f"{what}; send it in pieces", field="body", code="too_many_values")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
