"""How much context a request may supply to whatever selects from it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.sentences import Span

CONTEXT_SOURCES_MAX: Final = 12
"""Sources, items and files whose parts are supplied."""

CONTEXT_CHARACTERS_MAX: Final = 64_000
"""Code points of extracted text that are supplied."""

CONTEXT_PARTS_MAX: Final = CONTEXT_CHARACTERS_MAX // PART_CHARACTERS
"""Parts that fit for certain: each counts as a full one, whatever stands in it."""


def parts_of(span: Span) -> range:
    """Return the ordinals of the parts that [start, end) of a canonical text lies in."""
    start, end = span
    return range(start // PART_CHARACTERS + 1, (end - 1) // PART_CHARACTERS + 2)


def is_too_much(supplied: Collection[tuple[str, Span]]) -> bool:
    """Tell whether places in texts, by the keys of their sources, are more than may be supplied."""
    keys = {key for key, _ in supplied}
    parts = {(key, ordinal) for key, span in supplied for ordinal in parts_of(span)}
    return len(keys) > CONTEXT_SOURCES_MAX or len(parts) > CONTEXT_PARTS_MAX
