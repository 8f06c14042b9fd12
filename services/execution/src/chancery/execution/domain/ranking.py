"""How well a sentence answers a clause, from its words and those around it.

The weights were fitted once (docs/quality.md) and rounded; they are general, not of one corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.execution.domain.asked import Asked
from chancery.execution.domain.hints import offers
from chancery.execution.domain.pages import Page
from chancery.execution.domain.words import may_be_related, related

_OWN: Final = 1.0
_COUNT: Final = 0.6
_RELATED: Final = 0.8
_NEAR: Final = 0.86
_FAR: Final = 0.55
_HEADING: Final = 0.95
_PASSAGE: Final = 0.2
_HINT: Final = 0.2
_QUESTION: Final = 0.26
_RANK: Final = 0.09

_FAR_UNITS: Final = 4
"""How many sentences away a word still says what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Sentence `place` of `page`; `covered` is the share of the clause that its own words carry."""

    page: Page
    place: int
    score: float
    covered: float
    related: float


def rank(asked: Asked, pages: Sequence[Page]) -> tuple[Ranked, ...]:
    """Return the quotable sentences of the gathered passages, best first."""
    found = [one for page in pages for one in _ranked(asked, page)]
    found.sort(
        key=lambda one: (-round(one.score, 9), one.page.key, one.page.units[one.place].start)
    )
    return tuple(found)


def _ranked(asked: Asked, page: Page) -> Iterable[Ranked]:
    hits = [asked.weights.keys() & unit.words for unit in page.units]
    ranks = _ranks(page)
    around = _passage_hits(page, hits)
    for place, unit in enumerate(page.units):
        if place in ranks and not unit.is_heading:
            yield _score(asked, page, place, hits, rank_=ranks[place], passage=around[place])


def _ranks(page: Page) -> dict[int, int]:
    """Return the sentences that begin in a gathered passage, with its rank."""
    ranks: dict[int, int] = {}
    for rank_, (start, end) in page.passages:
        for place, unit in enumerate(page.units):
            if start <= unit.start < end:
                ranks.setdefault(place, rank_)
    return ranks


def _passage_hits(page: Page, hits: Sequence[frozenset[str] | set[str]]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for _, (start, end) in page.passages:
        places = [n for n, unit in enumerate(page.units) if start <= unit.start < end]
        together = {stem for place in places for stem in hits[place]}
        found |= dict.fromkeys(places, together)
    return found


def _score(
    asked: Asked,
    page: Page,
    place: int,
    hits: Sequence[frozenset[str] | set[str]],
    *,
    rank_: int,
    passage: set[str],
) -> Ranked:
    unit = page.units[place]
    own = hits[place]
    akin = {
        stem
        for stem in asked.weights.keys() - own
        if may_be_related(stem, unit.beginnings) and related(stem, unit.words)
    }
    covered, kin = asked.share(own), asked.share(akin)
    score = _OWN * covered + _COUNT * len(own) / len(asked.weights) + _RELATED * kin
    left = asked.weights.keys() - own - akin
    for stems, weight in _context(page, place, hits, passage):
        score += weight * asked.share(left & stems)
        left -= stems
    if asked.wanted is not None:
        score += _HINT if offers(page.quote(unit), asked.wanted, asked.text) else -_HINT
    score -= _QUESTION * unit.is_question + _RANK * math.log1p(rank_)
    return Ranked(page, place, score, covered, kin)


def _context(
    page: Page, place: int, hits: Sequence[frozenset[str] | set[str]], passage: set[str]
) -> Iterable[tuple[set[str] | frozenset[str], float]]:
    """Yield the words around a sentence with what they count, the nearest first."""
    yield _between(hits, place, 1), _NEAR
    yield _between(hits, place, _FAR_UNITS), _FAR
    yield page.headings[place], _HEADING
    yield passage, _PASSAGE


def _between(hits: Sequence[frozenset[str] | set[str]], place: int, reach: int) -> set[str]:
    window = hits[max(0, place - reach) : place + reach + 1]
    return {stem for found in window for stem in found}
