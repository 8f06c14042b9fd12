"""The order of what was found, out of the searched scope alone.

A found entry is known by its code: a bit for each word of the question, the first word's being the
lowest, tells whether it stands there. Whatever weighs a word is counted in the found entries
themselves: a statistic of anything else would tell the caller what stands there. Saying a word
again counts as in BM25 (Robertson and Zaragoza 2009, section 3.4, k1 1.2) in a passage of average
length; how long a passage is counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Final

LOOKED_AT_MIN: Final = 50
"""Entries that are put in order at least: what one search may ask for. So asking for fewer does not
change their order."""

WORDS_MAX: Final = 150
"""Distinct words of a question that are searched; each twenty-four are a pass over the scope."""

CODES_REMEMBERED: Final = 16 * 1024
"""Codes whose words are kept, some 3 MB, 20 if all were of the longest questions: most questions
meet the same ones."""

_K1: Final = 1.2
_MORE: Final = tuple(times * (_K1 + 1) / (times + _K1) - 1 for times in (1, 2, 3))
"""What a word counts more than once its weight that is said again never, once, or more."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each word of a question adds to an entry that has it."""

    of_words: tuple[float, ...]

    @classmethod
    def counted(cls, found: Mapping[int, int], words: int) -> Weights:
        """Weigh so many words by their inverse document frequency among the found entries.

        `found` is how many entries have each code.
        """
        counts = [0] * words
        for code, count in found.items():
            for word in _words(code):
                counts[word] += count
        total = sum(found.values())
        return cls(tuple(log((total + 1) / (count + 0.5)) for count in counts))

    def score(self, code: int) -> float:
        """Return the score of an entry with this code that says nothing again."""
        return sum(map(self.of_words.__getitem__, _words(code)))

    def scores(
        self, codes: Sequence[int], again: Sequence[Iterable[tuple[int, int]]]
    ) -> list[float]:
        """Return the score of each entry.

        `again` tells for each word which entries, by their places in `codes`, say it once more or
        twice and more.
        """
        scores = [self.score(code) for code in codes]
        for word, entries in enumerate(again):
            for entry, times in entries:
                if codes[entry] >> word & 1:
                    scores[entry] += self.of_words[word] * _MORE[times]
        return scores


def leading(found: Mapping[int, int], weights: Weights, least: int) -> list[int]:
    """Return the best codes, best first, so many that `least` entries have one of them.

    `found` is how many entries have each code. Codes of equal score are all returned, or none is.
    """
    scored = {code: weights.score(code) for code in found}
    led: list[int] = []
    reached, last = 0, 0.0
    for code in sorted(scored, key=lambda one: (-scored[one], one)):
        if reached >= least and scored[code] < last:
            break
        led.append(code)
        last = scored[code]
        reached += found[code]
    return led


@lru_cache(maxsize=CODES_REMEMBERED)
def _words(code: int) -> tuple[int, ...]:
    """Return the places of the bits that are set, the lowest first."""
    return tuple(place for place in range(code.bit_length()) if code >> place & 1)
