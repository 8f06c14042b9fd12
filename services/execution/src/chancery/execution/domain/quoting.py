"""From ranked sentences to quotations: with the context they need, each thing told once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chancery.evidence.quote import splits_character
from chancery.evidence.sentences import Span
from chancery.execution.domain.asked import Asked
from chancery.execution.domain.pages import Page, Unit
from chancery.execution.domain.ranking import Ranked
from chancery.execution.domain.words import Stemmer

_FULL: Final = 0.999
_BESIDE_FULL_MIN: Final = 0.6
"""Beside a sentence that says everything asked, another one has to say this share of it."""

_SAME: Final = 0.9
"""The share of a sentence's words in a told one from which it tells nothing new."""

_ONWARD: Final = 0.1
"""What follows a sentence explains it more often than what comes before."""

_BORDER: Final = re.compile(
    r"[,;:–—](?=\s)|\s(?=\()|\)(?=[\s,;.])"
    r"|\s(?=(?:and|but|or|which|who|where|while|that|because|although"
    r"|und|aber|oder|weil|obwohl|während)\s)"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is quoted for one question.

    The first quotation is filled up to `context_characters`; a neighbour joins a sentence when its
    score is within `reach` (`paragraph_reach` for the next paragraph), another quotation when its
    score is within `lead` of the best.
    """

    quotes_max: int = 3
    characters_max: int = 600
    context_characters: int = 300
    reach: float = 0.5
    paragraph_reach: float = 0.35
    lead: float = 0.45


@dataclass(frozen=True, slots=True)
class Quote:
    """[start, end) of a part's text."""

    key: str
    revision: int
    part_id: str
    start: int
    end: int


def quotes(
    asked: Asked, ranked: Sequence[Ranked], limits: Limits, stemmer: Stemmer
) -> tuple[Quote, ...]:
    """Return the quotations of what is ranked, best first."""
    return tuple(_Quoting(asked, ranked, limits, stemmer).run())


class _Quoting:
    """One question's quotations while they are chosen."""

    def __init__(
        self, asked: Asked, ranked: Sequence[Ranked], limits: Limits, stemmer: Stemmer
    ) -> None:
        self._asked = asked
        self._ranked = ranked
        self._limits = limits
        self._stemmer = stemmer
        self._scores = {(one.page.part_id, one.place): one.score for one in ranked}
        self._originals = _originals(ranked)
        self._used: set[tuple[str, int]] = set()
        self._told: list[frozenset[str]] = []
        self._is_full = False

    def run(self) -> list[Quote]:
        """Return the quotations."""
        found: list[Quote] = []
        for one in self._ranked:
            if len(found) == self._limits.quotes_max or self._is_behind(one):
                break
            if self._adds_something(one):
                found.append(self._quote(self._original(one), is_first=not found))
        return found

    def _is_behind(self, one: Ranked) -> bool:
        return one.score < self._ranked[0].score - self._limits.lead

    def _adds_something(self, one: Ranked) -> bool:
        if (one.page.part_id, one.place) in self._used:
            return False
        if self._is_full and one.covered < _BESIDE_FULL_MIN:
            return False
        words = frozenset(one.page.units[one.place].words)
        return not any(len(words & told) >= _SAME * len(words) for told in self._told)

    def _original(self, one: Ranked) -> Ranked:
        """Return the first of equal sentences of a source: later copies only repeat it."""
        return self._originals[one.page.key, one.page.units[one.place].words]

    def _quote(self, one: Ranked, *, is_first: bool) -> Quote:
        page, low, high = one.page, one.place, one.place
        if one.covered < _FULL:
            low, high = self._extended(one, is_first=is_first)
        else:
            self._is_full = True
        taken = page.units[low : high + 1]
        self._used |= {(page.part_id, place) for place in range(low, high + 1)}
        self._told += [frozenset(unit.words) for unit in taken]
        start, end = self._bounded(page, taken)
        return Quote(page.key, page.revision, page.part_id, start, end)

    def _extended(self, one: Ranked, *, is_first: bool) -> tuple[int, int]:
        low = high = one.place
        wanted = self._limits.context_characters if is_first else 0
        while True:
            able = [
                (score, place)
                for place in (low - 1, high + 1)
                if (score := self._joining(one, place, (low, high), wanted)) is not None
            ]
            if not able:
                return low, high
            _, place = max(able)
            low, high = min(low, place), max(high, place)

    def _joining(
        self, one: Ranked, place: int, taken: tuple[int, int], wanted: int
    ) -> float | None:
        """Return the score with which a neighbour joins, or None when it does not."""
        score = self._scores.get((one.page.part_id, place))
        if score is None or (one.page.part_id, place) in self._used:
            return None
        units = one.page.units
        inner = taken[1] if place > one.place else taken[0]
        reach = self._limits.reach
        if units[place].block != units[inner].block:
            if not one.page.continues(min(inner, place)):
                return None
            wanted, reach = 0, min(reach, self._limits.paragraph_reach)
        length = units[max(taken[1], place)].end - units[min(taken[0], place)].start
        score += _ONWARD if place > one.place else 0.0
        is_far_behind = score < one.score - reach
        if length > self._limits.characters_max or (length > wanted and is_far_behind):
            return None
        return score

    def _bounded(self, page: Page, taken: Sequence[Unit]) -> Span:
        start, end = taken[0].start, taken[-1].end
        if end - start <= self._limits.characters_max:
            return start, end
        return _cut(
            page.text, (start, end), self._limits.characters_max, self._asked, self._stemmer
        )


def _originals(ranked: Sequence[Ranked]) -> dict[tuple[str, tuple[str, ...]], Ranked]:
    found: dict[tuple[str, tuple[str, ...]], Ranked] = {}
    for one in ranked:
        unit = one.page.units[one.place]
        known = found.setdefault((one.page.key, unit.words), one)
        if unit.start < known.page.units[known.place].start:
            found[one.page.key, unit.words] = one
    return found


def _cut(text: str, span: Span, characters_max: int, asked: Asked, stemmer: Stemmer) -> Span:
    """Return the stretch of clauses of a long sentence that covers most of what is asked."""
    borders = [span[0], *(found.end() for found in _BORDER.finditer(text, *span)), span[1]]
    able = [
        (start, max(fitting))
        for start in borders[:-1]
        if (fitting := [one for one in borders if start < one <= start + characters_max])
    ]
    if not able:
        return _hard_cut(text, span[0], characters_max)
    best = max(able, key=lambda one: _worth(text, one, asked, stemmer))
    return _trimmed(text, *best)


def _worth(text: str, span: Span, asked: Asked, stemmer: Stemmer) -> tuple[float, int]:
    stems = frozenset(stemmer.stems(text[span[0] : span[1]]))
    return round(asked.share(stems), 9), span[1] - span[0]


def _hard_cut(text: str, start: int, characters_max: int) -> Span:
    end = start + characters_max
    while splits_character(text, end):
        end -= 1
    return _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
