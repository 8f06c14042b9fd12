"""The extractive selector: for each thing asked, the quotations or the measure that answer it.

A clause is answered strictly by a sentence or card whose own words cover most of it. A question
that no single sentence covers is asked again clause by clause; else what is ranked best is quoted,
as long as the confidence in it reaches the threshold. Anything else is refused rather than answered
beside the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from chancery.execution.domain.asked import Asked, Background, prepare
from chancery.execution.domain.breakdown import breakdown
from chancery.execution.domain.clauses import Ask, asks
from chancery.execution.domain.confidence import CONFIDENCE_MIN, confidence
from chancery.execution.domain.pages import Page
from chancery.execution.domain.quoting import Limits, Quote, quotes
from chancery.execution.domain.ranking import Ranked, rank
from chancery.execution.domain.words import Stemmer

CLAUSE_COVERAGE_MIN: Final = 0.6
"""What share of a clause a sentence has to cover to answer it strictly."""

CLAUSE_STEMS_MIN: Final = 2
"""What a clause needs to be a question: in "2004, 2005 and 2006" nothing is asked by itself."""

MEASURE_COVERAGE_MIN: Final = 0.5
"""What share of a clause a measure's card has to cover; its words are few."""

MEASURE_LEAD_MIN: Final = 0.1
"""How far the best card has to be ahead of the next one; a tie selects none."""

PICKS_MAX: Final = 12
"""Quotations and measures of one answer, so that many clauses do not fill it."""


@dataclass(frozen=True, slots=True)
class Card:
    """A gathered measure, by dataset and name, with the words of its card."""

    key: str
    name: str
    words: frozenset[str]


Pick = Quote | Card


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that may be selected from, and how common words are where it comes from."""

    pages: tuple[Page, ...]
    cards: tuple[Card, ...]
    background: Background


@dataclass(frozen=True, slots=True)
class Rules:
    """How much may be selected, and from which confidence on."""

    sources_max: int
    limits: Limits = field(default_factory=Limits)
    confidence_min: float = CONFIDENCE_MIN


def choose(question: str, material: Material, stemmer: Stemmer, rules: Rules) -> tuple[Pick, ...]:
    """Return what answers `question`, in the order of the question; empty: nothing does."""
    chooser = _Chooser(material, stemmer, rules)
    picks: list[Pick] = []
    for ask in asks(question):
        picks += [pick for pick in chooser.answers(ask) if pick not in picks]
    return _within(picks, rules.sources_max)


def highest_confidence(question: str, material: Material, stemmer: Stemmer) -> float:
    """Return the confidence that the selector compares with its threshold; 0 without a sentence."""
    found = [0.0]
    for ask in asks(question):
        asked = prepare(ask.whole, material.background, stemmer)
        ranked = () if asked is None else rank(asked, material.pages)
        if asked is not None and ranked:
            found.append(confidence(asked, ranked[0], material.pages))
    return max(found)


def _within(picks: Sequence[Pick], sources_max: int) -> tuple[Pick, ...]:
    kept: list[Pick] = []
    keys: set[str] = set()
    for pick in picks:
        if len(keys | {pick.key}) <= sources_max and len(kept) < PICKS_MAX:
            keys.add(pick.key)
            kept.append(pick)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class _Chooser:
    """Answers one sentence of the question at a time."""

    material: Material
    stemmer: Stemmer
    rules: Rules

    def answers(self, ask: Ask) -> Sequence[Pick]:
        """Return the picks for the whole sentence, or for its clauses when they are answered."""
        asked = prepare(ask.whole, self.material.background, self.stemmer)
        if asked is None:
            return ()
        ranked = rank(asked, self.material.pages)
        covered = max((one.covered for one in ranked), default=0.0)
        card = self._card(asked)
        if card is not None and card[1] >= covered:
            return (card[0],)
        if covered < CLAUSE_COVERAGE_MIN and len(ask.clauses) > 1:
            strict = self._clauses(ask.clauses)
            if len(strict) > 1:
                return strict
        return self._quotes(asked, ranked)

    def _quotes(self, asked: Asked, ranked: Sequence[Ranked]) -> Sequence[Quote]:
        if not ranked or ranked[0].covered <= 0:
            return ()
        if confidence(asked, ranked[0], self.material.pages) < self.rules.confidence_min:
            return ()
        return quotes(asked, ranked, self.rules.limits, self.stemmer)

    def _clauses(self, clauses: Sequence[str]) -> list[Pick]:
        """Return one pick for each clause that a sentence or card answers strictly."""
        picks: list[Pick] = []
        for clause in clauses:
            pick = self._strict(clause)
            if pick is not None and pick not in picks:
                picks.append(pick)
        return picks

    def _strict(self, clause: str) -> Pick | None:
        asked = prepare(clause, self.material.background, self.stemmer)
        if asked is None or len(asked.weights) < CLAUSE_STEMS_MIN:
            return None
        ranked = rank(asked, self.material.pages)
        able = [one for one in ranked if one.covered >= CLAUSE_COVERAGE_MIN]
        best = max(able, key=lambda one: round(one.covered, 6), default=None)
        card = self._card(asked)
        if card is not None and (best is None or card[1] >= best.covered):
            return card[0]
        if best is None:
            return None
        single = Limits(
            quotes_max=1,
            characters_max=self.rules.limits.characters_max,
            context_characters=0,
            reach=0.0,
        )
        return quotes(asked, (best,), single, self.stemmer)[0]

    def _card(self, asked: Asked) -> tuple[Card, float] | None:
        """Return the card that covers the clause, with its share, when none is as good.

        One that says nothing of the breakdown that is asked for would be beside the point.
        """
        parted = breakdown(asked.text, self.stemmer)
        able = [card for card in self.material.cards if parted <= card.words]
        scored = sorted(
            ((asked.share(card.words), card) for card in able),
            key=lambda pair: (-pair[0], pair[1].key, pair[1].name),
        )
        if not scored or scored[0][0] < MEASURE_COVERAGE_MIN:
            return None
        covered, best = scored[0]
        if len(scored) > 1 and covered - scored[1][0] < MEASURE_LEAD_MIN:
            return None
        return best, covered
