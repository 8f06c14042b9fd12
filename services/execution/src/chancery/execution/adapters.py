"""The ports of execution: RUNS on JetStream, and the selector that needs no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import last_message
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.run import RunAdmitted
from chancery.events.topology import RUNS, run_subject
from chancery.evidence.sentences import sentences
from chancery.execution.domain.selection import Card, Material, Sentence, choose
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

    name: str = "extractive"

    async def select(
        self,
        question: Question,
        passages: Sequence[Passage],
        measures: Sequence[OfferedMeasure],
    ) -> tuple[Selected, ...]:
        """Return the sentences and measures that cover what is asked."""
        return await asyncio.to_thread(_select, question, tuple(passages), tuple(measures))


def _select(
    question: Question, passages: Sequence[Passage], measures: Sequence[OfferedMeasure]
) -> tuple[Selected, ...]:
    words = stemmer(question.language)
    material = Material(
        sentences=tuple(
            sentence
            for rank, passage in enumerate(passages)
            for sentence in _sentences(passage, rank, words)
        ),
        cards=tuple(_card(offered, words) for offered in measures),
    )
    chosen = choose(question.text, material, words, sources_max=question.bounds.max_sources)
    offered = {(item.key, item.card.name): item for item in measures}
    selected = tuple(_selected(pick, offered) for pick in chosen.picks)
    return selected if _sources(selected) >= question.bounds.min_sources else ()


def _sentences(passage: Passage, rank: int, words: Stemmer) -> Sequence[Sentence]:
    return [
        Sentence(
            key=passage.key,
            revision=passage.revision,
            part_id=passage.part_id,
            start=start,
            end=end,
            rank=rank,
            words=frozenset(words.stems(passage.text[start:end])),
        )
        for start, end in sentences(passage.text, *passage.span)
    ]


def _card(offered: OfferedMeasure, words: Stemmer) -> Card:
    card = offered.card
    described = " ".join((card.name.replace("_", " "), card.description, *card.synonyms))
    return Card(offered.key, card.name, frozenset(words.stems(described)))


def _selected(pick: Sentence | Card, offered: dict[tuple[str, str], OfferedMeasure]) -> Selected:
    if isinstance(pick, Card):
        return SelectedMeasure(offered[pick.key, pick.name])
    return SelectedQuote(pick.key, pick.revision, pick.part_id, (pick.start, pick.end))


def _sources(selected: Sequence[Selected]) -> int:
    return len(
        {item.measure.key if isinstance(item, SelectedMeasure) else item.key for item in selected}
    )
