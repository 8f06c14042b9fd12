"""Does this passage stand in that text, letter by letter?"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from chancery.kernel.errors import Rejected

OCCURRENCES_MAX: Final = 1000
"""How many places are counted: one text can have a passage in millions of them."""


class Finding(NamedTuple):
    """The verdict on one passage; start and end are code points of the only occurrence.

    `occurrences` of `OCCURRENCES_MAX` are so many or more.
    """

    verdict: Literal["match", "absent", "ambiguous"]
    occurrences: int
    start: int | None
    end: int | None


def find_passage(text: str, passage: str, start: int | None, end: int | None) -> Finding:
    """Return where `passage` stands in `text`; with offsets it has to stand exactly there.

    Raises:
        Rejected: when only one offset is given, or they are reversed.
    """
    if start is None and end is None:
        return _search(text, passage)
    if start is None or end is None or start >= end:
        message = "give both start and end, with start below end, or neither"
        raise Rejected(message, field="start", code="invalid_offsets")
    if text[start:end] == passage:
        return Finding("match", 1, start, end)
    return Finding("absent", 0, None, None)


def _search(text: str, passage: str) -> Finding:
    first = text.find(passage)
    if first < 0:
        return Finding("absent", 0, None, None)
    count = 1
    following = text.find(passage, first + 1)
    while following >= 0 and count < OCCURRENCES_MAX:
        count += 1
        following = text.find(passage, following + 1)
    if count > 1:
        return Finding("ambiguous", count, None, None)
    return Finding("match", 1, first, first + len(passage))
