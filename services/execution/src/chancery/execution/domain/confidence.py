"""Whether the best sentence is about what was asked at all, or only the least far from it.

The confidence is a weighted sum of five shares; the threshold was chosen on one half of the
articles of a public data set and is measured on the other half (docs/quality.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from chancery.execution.domain.asked import Asked
from chancery.execution.domain.pages import Page
from chancery.execution.domain.ranking import Ranked

CONFIDENCE_MIN: Final = 0.3
"""Below it nothing is quoted."""

_OWN: Final = 0.2
_WINDOW: Final = 0.3
_PAIRS: Final = 0.3
_RELATED: Final = 0.2
_SOURCE: Final = 0.2
_WINDOW_UNITS: Final = 2
_PAIR_DISTANCE_MAX: Final = 2


def confidence(asked: Asked, best: Ranked, pages: Sequence[Page]) -> float:
    """Return how sure it is that `best` is about `asked`, from 0 to about 1.2."""
    units = best.page.units
    low = max(0, best.place - _WINDOW_UNITS)
    window = {word for unit in units[low : best.place + _WINDOW_UNITS + 1] for word in unit.words}
    source = frozenset[str]().union(*(one.words for one in pages if one.key == best.page.key))
    return (
        _OWN * best.covered
        + _WINDOW * asked.share(window)
        + _PAIRS * _paired(asked, units[best.place].words)
        + _RELATED * best.related
        + _SOURCE * asked.share(source)
    )


def _paired(asked: Asked, words: Sequence[str]) -> float:
    """Return the weight of neighbouring words of the question that are neighbours here too."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        if word in asked.weights:
            places.setdefault(word, []).append(place)
    return math.fsum(
        min(asked.weights[first], asked.weights[second])
        * _closeness(places.get(first, ()), places.get(second, ()))
        for first, second in asked.pairs
    )


def _closeness(first: Sequence[int], second: Sequence[int]) -> float:
    distance = min((abs(one - other) for one in first for other in second), default=None)
    if distance is None or distance > _PAIR_DISTANCE_MAX:
        return 0.0
    return 1.0 / distance
