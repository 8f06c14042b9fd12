"""The ports of execution: RUNS on JetStream, and the selector that needs no model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.bus.connection import Connection
from chancery.bus.load import last_message
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.run import RunAdmitted
from chancery.events.topology import RUNS, run_subject
from chancery.evidence.terms import terms
from chancery.execution.domain.asked import Background
from chancery.execution.domain.confidence import CONFIDENCE_MIN
from chancery.execution.domain.pages import Found, Page, make_pages
from chancery.execution.domain.quoting import Limits
from chancery.execution.domain.selection import Card, Material, Pick, Rules, choose
from chancery.execution.domain.words import Stemmer, stemmer
from chancery.execution.errors import NotAdmitted
from chancery.execution.ports import (
    OfferedMeasure,
    Passage,
    Question,
    Selected,
    SelectedMeasure,
    SelectedQuote,
)

PUBLISH_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class StreamRunLog:
    """The RUNS stream on JetStream; reads go to the stream's leader."""

    connection: Connection

    async def admitted(self, tenant: str, run_id: str) -> RunAdmitted:
        """Return the newest admission of a run."""
        subject = run_subject(tenant, run_id, "admitted")
        stored = await last_message(self.connection, RUNS, subject)
        data = None if stored is None else decode(stored.payload).data
        if not isinstance(data, RunAdmitted):
            message = "the run's admission is not on the stream yet"
            raise NotAdmitted(message)
        return data

    async def record(self, subject: str, event: Event) -> None:
        """Store an event; its id lets the stream drop a repeat."""
        await publish(self.connection, subject, event, timeout_s=PUBLISH_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class ExtractiveSelector:
    """Deterministic selection of sentences and measures by the words they share with a question."""

    limits: Limits = field(default_factory=Limits)
    confidence_min: float = CONFIDENCE_MIN
    name: str = "extractive"

    async def select(
        self,
        question: Question,
        passages: Sequence[Passage],
        measures: Sequence[OfferedMeasure],
    ) -> tuple[Selected, ...]:
        """Return the sentences and measures that answer what is asked."""
        rules = Rules(question.bounds.max_sources, self.limits, self.confidence_min)
        return await asyncio.to_thread(_select, question, tuple(passages), tuple(measures), rules)


def material_of(
    question: Question, passages: Sequence[Passage], measures: Sequence[OfferedMeasure]
) -> Material:
    """Return what may be selected from, prepared for ranking."""
    words = stemmer(question.language)
    found = [
        Found(one.key, one.revision, one.part_id, one.span, one.text, one.is_paged)
        for one in passages
    ]
    pages = make_pages(found, words)
    cards = tuple(_card(offered, words) for offered in measures)
    return Material(pages, cards, _background(question, pages, cards, words))


def _select(
    question: Question,
    passages: Sequence[Passage],
    measures: Sequence[OfferedMeasure],
    rules: Rules,
) -> tuple[Selected, ...]:
    material = material_of(question, passages, measures)
    picks = choose(question.text, material, stemmer(question.language), rules)
    offered = {(item.key, item.card.name): item for item in measures}
    selected = tuple(_selected(pick, offered) for pick in picks)
    return selected if _sources(selected) >= question.bounds.min_sources else ()


def _background(
    question: Question, pages: Sequence[Page], cards: Sequence[Card], words: Stemmer
) -> Background:
    """Return how common the question's words are: in the whole scope, as far as it is known.

    A run that was gathered without statistics has only the gathered sentences to count in.
    """
    counts: Counter[str] = Counter()
    for card in cards:
        counts.update(card.words)
    statistics = question.statistics
    if statistics is None or statistics.total == 0:
        units = [unit for page in pages for unit in page.units]
        for unit in units:
            counts.update(set(unit.words))
        return Background(counts, len(cards) + len(units))
    known: dict[str, int] = {}
    for term, count in zip(dict.fromkeys(terms(question.text)), statistics.counts, strict=False):
        stem = words.stem(term)
        known[stem] = max(count, known.get(stem, 0))
    counts.update(known)
    return Background(counts, len(cards) + statistics.total)


def _card(offered: OfferedMeasure, words: Stemmer) -> Card:
    card = offered.card
    described = " ".join((card.name.replace("_", " "), card.description, *card.synonyms))
    return Card(offered.key, card.name, frozenset(words.stems(described)))


def _selected(pick: Pick, offered: dict[tuple[str, str], OfferedMeasure]) -> Selected:
    if isinstance(pick, Card):
        return SelectedMeasure(offered[pick.key, pick.name])
    return SelectedQuote(pick.key, pick.revision, pick.part_id, (pick.start, pick.end))


def _sources(selected: Sequence[Selected]) -> int:
    return len(
        {item.measure.key if isinstance(item, SelectedMeasure) else item.key for item in selected}
    )
