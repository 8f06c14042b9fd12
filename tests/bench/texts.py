"""Texts out of a seeded vocabulary whose words are as common as Zipf says.

The commonest are stop words, about half of all words as in any text, unless they are left out; the
others are made of syllables.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final

from chancery.evidence.terms import STOP_WORDS

WORDS: Final = 20_000
DOCUMENT_CHARACTERS: Final = 5_000
_SYLLABLES: Final = (
    "ba", "ke", "lo", "mi", "ra", "tu", "no", "sa", "vi", "pe", "du", "fa", "go", "hi", "ju", "li",
)  # fmt: skip
_RARE: Final = slice(300, 5_000)
"""The words that a question is made of: neither everywhere nor nowhere."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words, the commonest first, and how their weights add up."""

    words: tuple[str, ...]
    weights: tuple[float, ...]


@cache
def vocabulary(*, stop_words: bool = True) -> Vocabulary:
    """Return the words, the same ones in every run."""
    draw = random.Random(7)
    common = sorted(filter(str.isascii, STOP_WORDS)) if stop_words else []
    found: dict[str, None] = dict.fromkeys(common)
    while len(found) < WORDS:
        found["".join(draw.choice(_SYLLABLES) for _ in range(draw.randint(2, 5)))] = None
    weights = accumulate(1 / rank for rank in range(1, WORDS + 1))
    return Vocabulary(tuple(found), tuple(weights))


def documents(count: int, *, seed: int, stop_words: bool = True) -> Iterator[str]:
    """Yield so many documents of 5,000 characters in sentences and paragraphs."""
    draw, known = random.Random(seed), vocabulary(stop_words=stop_words)
    for _ in range(count):
        yield _document(draw, known)


def questions(texts: list[str], count: int, *, stop_words: bool = True) -> list[str]:
    """Return questions: some rare words of a text, and sentences of one, in turn."""
    draw = random.Random(11)
    rare = set(vocabulary(stop_words=stop_words).words[_RARE])
    found: list[str] = []
    for number in range(count):
        words = draw.choice(texts).replace(".", "").lower().split()
        if number % 2:
            begin = draw.randrange(len(words) - 14)
            found.append(" ".join(words[begin : begin + draw.randint(7, 14)]))
        else:
            fitting = [word for word in words if word in rare] or words
            found.append(" ".join(draw.choices(fitting, k=5)))
    return found


def _document(draw: random.Random, known: Vocabulary) -> str:
    pieces: list[str] = []
    length = 0
    while length < DOCUMENT_CHARACTERS:
        words = draw.choices(known.words, cum_weights=known.weights, k=draw.randint(8, 18))
        sentence = " ".join(words).capitalize() + draw.choice((". ", ". ", ". ", ".\n\n"))
        pieces.append(sentence)
        length += len(sentence)
    return "".join(pieces)[:DOCUMENT_CHARACTERS]
