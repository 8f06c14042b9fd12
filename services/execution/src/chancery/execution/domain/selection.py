"""The extractive selector: for each thing asked, the sentence or measure that covers it best.

Coverage is the share of the clause's weight (inverse document frequency over the candidates) that
a candidate's words carry. A word that no candidate has weighs most, so a question about something
else stays below the threshold and is refused rather than answered beside the point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chancery.evidence.terms import idf_coverage
from chancery.execution.domain.clauses import Ask, asks
from chancery.execution.domain.words import Stemmer

QUOTE_COVERAGE_MIN: Final = 0.6
"""What share of a clause a sentence has to cover."""

MEASURE_COVERAGE_MIN: Final = 0.5
"""What share of a clause a measure's card has to cover; its words are few."""

MEASURE_LEAD_MIN: Final = 0.1
"""How far the best card has to be ahead of the next one; a tie selects none."""

QUOTES_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class Sentence:
    """A quotable sentence of a gathered passage; `rank` is the passage's place, 0 the best."""

    key: str
    revision: int
    part_id: str
    start: int
    end: int
    rank: int
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Card:
    """A gathered measure, by dataset and name, with the words of its card."""

    key: str
    name: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What answers the question, in the order of the question; empty: nothing does."""

    picks: tuple[Sentence | Card, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that may be selected from."""

    sentences: tuple[Sentence, ...]
    cards: tuple[Card, ...]

    def frequencies(self) -> Mapping[str, int]:
        """Return in how many candidates each word stands."""
        counts: Counter[str] = Counter()
        for candidate in (*self.sentences, *self.cards):
            counts.update(candidate.words)
        return counts


def choose(question: str, material: Material, stemmer: Stemmer, *, sources_max: int) -> Chosen:
    """Return the picks for `question`, from at most `sources_max` sources."""
    chooser = _Chooser(material, stemmer)
    picks: list[Sentence | Card] = []
    for ask in asks(question):
        for pick in chooser.answers(ask):
            if pick not in picks:
                picks.append(pick)
    return Chosen(_within(picks, sources_max))


def _within(picks: Sequence[Sentence | Card], sources_max: int) -> tuple[Sentence | Card, ...]:
    kept: list[Sentence | Card] = []
    keys: set[str] = set()
    quotes = 0
    for pick in picks:
        is_quote = isinstance(pick, Sentence)
        if len(keys | {pick.key}) > sources_max or (is_quote and quotes >= QUOTES_MAX):
            continue
        keys.add(pick.key)
        quotes += is_quote
        kept.append(pick)
    return tuple(kept)


class _Chooser:
    """Ranks one run's candidates against one clause at a time."""

    def __init__(self, material: Material, stemmer: Stemmer) -> None:
        self._material = material
        self._stemmer = stemmer
        self._frequencies = material.frequencies()
        self._total = len(material.sentences) + len(material.cards)

    def answers(self, ask: Ask) -> list[Sentence | Card]:
        """Return the pick for the whole sentence, else the picks for its clauses."""
        whole = self._best(ask.whole)
        if whole is not None or len(ask.clauses) == 1:
            return [] if whole is None else [whole]
        found = (self._best(clause) for clause in ask.clauses)
        return [pick for pick in found if pick is not None]

    def _best(self, clause: str) -> Sentence | Card | None:
        asked = frozenset(self._stemmer.stems(clause))
        if not asked:
            return None
        sentence, covered = self._best_sentence(asked)
        card, card_covered = self._best_card(asked)
        if card is not None and (sentence is None or card_covered >= covered):
            return card
        return sentence

    def _best_sentence(self, asked: frozenset[str]) -> tuple[Sentence | None, float]:
        scored = [(self._coverage(asked, item.words), item) for item in self._material.sentences]
        able = [pair for pair in scored if pair[0] >= QUOTE_COVERAGE_MIN]
        if not able:
            return None, 0.0
        covered, best = min(able, key=lambda pair: (-round(pair[0], 6), _place(pair[1])))
        return best, covered

    def _best_card(self, asked: frozenset[str]) -> tuple[Card | None, float]:
        scored = sorted(
            ((self._coverage(asked, item.words), item) for item in self._material.cards),
            key=lambda pair: (-pair[0], pair[1].key, pair[1].name),
        )
        if not scored or scored[0][0] < MEASURE_COVERAGE_MIN:
            return None, 0.0
        covered, best = scored[0]
        if len(scored) > 1 and covered - scored[1][0] < MEASURE_LEAD_MIN:
            return None, 0.0
        return best, covered

    def _coverage(self, asked: frozenset[str], words: frozenset[str]) -> float:
        return idf_coverage(asked, words, self._frequencies, self._total)


def _place(sentence: Sentence) -> tuple[int, int, str, int]:
    return sentence.rank, sentence.end - sentence.start, sentence.key, sentence.start
