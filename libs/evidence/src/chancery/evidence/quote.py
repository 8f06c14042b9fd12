"""Resolving a selected quotation: a slice of the source, byte for byte, or a refusal."""

from __future__ import annotations

import unicodedata
from typing import Final

from chancery.evidence.manifest import Manifest, check_part
from chancery.evidence.parts import Part
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected

QUOTE_CHARACTERS_MAX: Final = 2000

_INVISIBLE: Final = frozenset(
    (
        *(0x00AD, 0x061C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
    )
)
_JOINER: Final = "\u200d"


class UnsupportedSelection(Rejected):
    """What was selected is not in the evidence; the whole proposal is void."""

    code = "unsupported_selection"


def resolve_quote(text: str, manifest: Manifest, part_id: str, start: int, end: int) -> str:
    """Return `text[start:end]` when the selection is a sound quotation of the named part.

    Offsets are code points of the whole canonical `text`.

    Raises:
        UnsupportedSelection: with code `unknown_part`, `quote_outside_part`, `quote_too_long`,
            `quote_splits_character` or `blank_quote`.
        AlteredText: when the part is not the one that the manifest describes.
    """
    part = manifest.part(part_id)
    if part is None:
        raise _refused("the named part is no part of this revision", "part", "unknown_part")
    if splits_character(text, start) or splits_character(text, end):
        raise _splits()
    quote = quote_of_part(part, part.slice(text), start, end)
    if is_blank(quote):
        raise _blank()
    return quote


def quote_of_part(part: Part, part_text: str, start: int, end: int) -> str:
    """Return the quotation [start, end) from the text of its part alone, as one that was sealed.

    Raises:
        UnsupportedSelection: as `resolve_quote`; a character that continues beyond the part's end
            cannot be seen from here, and what is blank is told by the rule of the first answers.
        AlteredText: when `part_text` is not the text of `part`.
    """
    check_part(part, part_text)
    if not part.start <= start < end <= part.end:
        raise _refused("the quotation leaves its part", "start", "quote_outside_part")
    if end - start > QUOTE_CHARACTERS_MAX:
        raise _refused("a quotation has at most 2000 characters", "end", "quote_too_long")
    first, last = start - part.start, end - part.start
    if splits_character(part_text, first) or splits_character(part_text, last):
        raise _splits()
    quote = part_text[first:last]
    if is_blank_as_sealed(quote):
        raise _blank()
    return quote


def splits_character(text: str, offset: int) -> bool:
    """Tell whether `offset` stands inside what a reader sees as one character.

    Cutting `=` from a following U+0338 would turn "not equal" into "equal".
    """
    if not 0 < offset < len(text):
        return offset == 0 and bool(text) and _continues(text[0])
    return _continues(text[offset]) or text[offset - 1] == _JOINER


def is_blank_as_sealed(text: str) -> bool:
    """Tell whether the first answers took `text` for blank: less than `is_blank` finds today.

    It is part of how an answer is checked, so it stays as it is: what was sealed once, such as a
    quotation of U+3164, is no altered text today.
    """
    return all(
        character.isspace() or ord(character) in _INVISIBLE or ord(character) < ord(" ")
        for character in text
    )


def _continues(character: str) -> bool:
    return character == _JOINER or unicodedata.category(character).startswith("M")


def _refused(detail: str, field: str, code: str) -> UnsupportedSelection:
    return UnsupportedSelection(detail, field=field, code=code)


def _blank() -> UnsupportedSelection:
    return _refused("the quotation shows nothing", "start", "blank_quote")


def _splits() -> UnsupportedSelection:
    return _refused("the quotation cuts a character in two", "start", "quote_splits_character")
