"""Cutting a part into the passages that are searched: about 1,000 characters, nothing lost."""

from __future__ import annotations

from typing import Final

from chancery.evidence.parts import Part
from chancery.evidence.quote import splits_character
from chancery.evidence.sentences import SentenceStarts, Span

PASSAGE_CHARACTERS: Final = 1000
_TAIL_CHARACTERS: Final = 250
"""A rest this short joins the passage before it."""


def passages(text: str, part: Part) -> tuple[Span, ...]:
    """Return consecutive [start, end) windows that cover `part` of the whole `text` exactly.

    Windows begin where a sentence begins, when one does within the bound. A sentence may still
    cross a window: choose quotations with `sentences` over the part, not over the window.
    """
    if part.end - part.start <= PASSAGE_CHARACTERS + _TAIL_CHARACTERS:
        return ((part.start, part.end),)
    starts = SentenceStarts(text, part.start, part.end)
    found: list[Span] = []
    position = part.start
    while position < part.end:
        stop = _window_end(text, starts, position, part.end)
        found.append((position, stop))
        position = stop
    return tuple(found)


def _window_end(text: str, starts: SentenceStarts, position: int, end: int) -> int:
    bound = position + PASSAGE_CHARACTERS
    if end - position <= PASSAGE_CHARACTERS + _TAIL_CHARACTERS:
        return end
    fitting = starts.last(position, bound)
    return _hard_cut(text, position, bound) if fitting is None else fitting


def _hard_cut(text: str, position: int, bound: int) -> int:
    for stop in range(bound, position + PASSAGE_CHARACTERS // 2, -1):
        if text[stop - 1].isspace() and not splits_character(text, stop):
            return stop
    stop = bound
    while stop > position + 1 and splits_character(text, stop):
        stop -= 1
    return stop if stop > position + 1 else bound
