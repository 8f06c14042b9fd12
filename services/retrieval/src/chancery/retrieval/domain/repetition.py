"""Which words a passage says again, in 512 bits beside its entry in the index.

The engine is not asked how often a word stands in a passage (`domain.ranking` tells why), so each
entry says it by itself: a Bloom filter (Bloom, 1970) of one hash, with the words that it holds
twice or more, and those that it holds thrice or more; short stop words, which are hardly ever
searched, are not among them. A word is told by its beginning, which most of its forms share. A bit
that another word has set makes a passage look more to the point than it is: with some ten of 512
set, by one word in fifty.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from chancery.evidence.terms import STOP_WORDS

COLUMNS: Final = 8
"""How many numbers of 64 bits a filter is."""

BEGINNING_CHARACTERS: Final = 6
"""Enough to tell most words apart, few enough to leave most endings out."""

WORDS_REMEMBERED: Final = 16 * 1024
"""Beginnings whose bits are kept, some 4 MB."""

_BITS: Final = 64
_TWICE: Final = 2
_BEGINNING: Final = re.compile(rf"\b\w{{1,{BEGINNING_CHARACTERS}}}")

_PASSED_OVER: Final = frozenset(word for word in STOP_WORDS if len(word) < BEGINNING_CHARACTERS)
"""The stop words that are told by their beginning from every other word."""

_ASCII_WORDS: Final = "".join(
    chr(code).lower() if chr(code).isalnum() else " " for code in range(128)
)
"""What each ASCII character is in a word: its small letter, or none."""


class Place(NamedTuple):
    """The bits of a word: in which number of a filter, and which there for twice and for thrice."""

    column: int
    twice: int
    thrice: int


def repeated(text: str) -> tuple[int, ...]:
    """Return the filter of a passage, `COLUMNS` numbers."""
    found = [0] * COLUMNS
    for beginning, count in Counter(_beginnings(text)).items():
        if count > 1 and beginning not in _PASSED_OVER:
            column, twice, thrice = _place(beginning)
            found[column] |= twice | (thrice if count > _TWICE else 0)
    return tuple(found)


def repetitions(word: str, column: Callable[[int], Sequence[int]]) -> list[tuple[int, int]]:
    """Return which entries say a word again, and how often: 1, or 2 for twice and more.

    `column` returns one of the numbers of every entry's filter; an entry is its place there.
    """
    number, twice, thrice = _place("".join(_beginnings(word)[:1]))
    return [
        (entry, 2 if bits & thrice else 1)
        for entry, bits in enumerate(column(number))
        if bits & twice
    ]


def _beginnings(text: str) -> list[str]:
    if text.isascii():
        # As below, in a third of the time: every passage that is indexed comes by.
        words = text.translate(_ASCII_WORDS).split()
        return [word[:BEGINNING_CHARACTERS] for word in words]
    return _BEGINNING.findall(text.lower().replace("_", " "))


@lru_cache(maxsize=WORDS_REMEMBERED)
def _place(beginning: str) -> Place:
    rest, column = divmod(crc32(beginning.encode()), COLUMNS)
    rest, twice = divmod(rest, _BITS)
    thrice = (twice + 1 + rest % (_BITS - 1)) % _BITS  # Never the same one.
    return Place(column, 1 << twice, 1 << thrice)
