"""Which words may name things: titles stand inside answers, so none may forge what is around it.

Source: Unicode Standard Annex 9, section 2 (explicit directional formatting characters).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from chancery.kernel.blank import is_blank
from chancery.kernel.canonical import Json
from chancery.kernel.errors import Rejected

REORDERING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Embeddings, overrides and isolates: they show the text behind them in another order."""
_LAST_OF_PLANES: Final = "".join(
    chr(plane * 0x10000 + last) for plane in range(17) for last in (0xFFFE, 0xFFFF)
)
_UNSTORABLE: Final = re.compile(f"[\\x00\\ud800-\\udfff\\ufdd0-\\ufdef{_LAST_OF_PLANES}]")
"""NUL, halves of surrogate pairs, and the 66 noncharacters of Unicode."""
_BREAKS: Final = frozenset("\n\t")
_FORBIDDEN: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_VISIBLE: Final = frozenset("LNPS")


class UnreadableText(Rejected):
    """The text cannot be shown as it is, or cannot be stored."""

    code = "unreadable_text"


def check_storable(body: Json) -> None:
    """Refuse text that a database or another parser cannot take, wherever in `body` it stands.

    Raises:
        UnreadableText: for a NUL, half a surrogate pair or a noncharacter.
    """
    for place, text in _texts(body, ""):
        if _UNSTORABLE.search(text) is not None:
            message = "the text has a NUL, half a surrogate pair or a noncharacter; leave it out"
            raise UnreadableText(message, field=place[:200] or None)


def check_name(text: str, *, field: str) -> None:
    """Refuse a name that is not one line, shows nothing, or reorders what stands around it.

    Raises:
        UnreadableText: naming the field.
    """
    check_wording(text, field=field)
    if not _BREAKS.isdisjoint(text):
        message = f"{field} must be one line"
        raise UnreadableText(message, field=field)
    has_sign = any(unicodedata.category(sign)[0] in _VISIBLE for sign in text)
    if is_blank(text) or not has_sign:
        message = f"{field} must show at least one letter, digit or sign"
        raise UnreadableText(message, field=field)


def check_wording(text: str, *, field: str) -> None:
    """Refuse a text with control characters, or that reorders what stands around it.

    Raises:
        UnreadableText: naming the field.
    """
    for sign in text:
        is_control = unicodedata.category(sign) in _FORBIDDEN and sign not in _BREAKS
        if is_control or sign in REORDERING:
            message = f"{field} has a control character or one that reorders text; leave it out"
            raise UnreadableText(message, field=field)


def _texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield place, name
            yield from _texts(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{place}.{number}")
