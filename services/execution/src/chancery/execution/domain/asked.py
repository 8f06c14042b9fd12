"""A question, or a clause of one, prepared for ranking: its words and what each weighs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from chancery.execution.domain.hints import Wanted, wanted
from chancery.execution.domain.words import Stemmer

_TEXTS_MIN: Final = 8
"""Fewer texts say too little about how rare a word is to let an absent one outweigh the others."""


@dataclass(frozen=True, slots=True)
class Background:
    """In how many of `total` texts each stem stands: how little a word tells."""

    frequencies: Mapping[str, int]
    total: int

    def weight(self, stem: str) -> float:
        """Return the inverse document frequency; a stem that no text has weighs most."""
        total = max(self.total, _TEXTS_MIN)
        found = min(self.frequencies.get(stem, 0), total)
        return math.log1p((total - found + 0.5) / (found + 0.5))


@dataclass(frozen=True, slots=True)
class Asked:
    """The clause `text`; `weights` are the shares of its stems, in order, summing to 1."""

    text: str
    weights: Mapping[str, float]
    pairs: tuple[tuple[str, str], ...]
    wanted: Wanted | None

    def share(self, stems: Collection[str]) -> float:
        """Return how much of the clause's weight `stems` of it carry."""
        return math.fsum(weight for stem, weight in self.weights.items() if stem in stems)


def prepare(text: str, background: Background, stemmer: Stemmer) -> Asked | None:
    """Return the clause as it is ranked with, or None when no word of it means anything."""
    stems = stemmer.stems(text)
    weights = {stem: background.weight(stem) for stem in dict.fromkeys(stems)}
    whole = math.fsum(weights.values())
    if whole <= 0:
        return None
    pairs = tuple(dict.fromkeys(pairwise(stems)))
    return Asked(
        text=text,
        weights={stem: weight / whole for stem, weight in weights.items()},
        pairs=tuple(pair for pair in pairs if pair[0] != pair[1]),
        wanted=wanted(text),
    )
