"""The selector over drawn stories, in two languages: each question gets exactly its evidence."""

from __future__ import annotations

import pytest

from chancery.client.demo.scenario import Scenario, draw_scenario
from chancery.events.run import Bounds
from chancery.evidence.manifest import MeasureCard
from chancery.evidence.terms import terms
from chancery.execution.adapters import ExtractiveSelector
from chancery.execution.domain.words import stemmer
from chancery.execution.ports import (
    OfferedMeasure,
    Passage,
    Question,
    SelectedMeasure,
    Statistics,
)


async def selected(scenario: Scenario, question: str) -> set[str]:
    """Return the selected sentences, and the labels of selected measures."""
    documents = {one.source_id: one.text for one in (scenario.ownership, scenario.terms)}
    passages = [Passage(key, 1, key, (0, len(text)), text) for key, text in documents.items()]
    declared, words = scenario.dataset.measure, stemmer(scenario.language)
    card = MeasureCard(
        name=declared.name,
        description=declared.description,
        synonyms=declared.synonyms,
        label=scenario.dataset.label,
        sql="SELECT 1",
        aggregate=declared.aggregate,
        column=declared.column,
    )
    counts = tuple(
        sum(words.stem(term) in words.stems(text) for text in documents.values())
        for term in dict.fromkeys(terms(question))
    )
    asked = Question(question, scenario.language, Bounds(), Statistics(counts, len(documents)))
    measure = OfferedMeasure(scenario.dataset.dataset_id, 1, card)
    found = await ExtractiveSelector().select(asked, passages, [measure])
    return {
        one.measure.card.label
        if isinstance(one, SelectedMeasure)
        else documents[one.key][slice(*one.span)]
        for one in found
    }


@pytest.mark.req("KO-4", "KO-23")
@pytest.mark.parametrize("seed", [None, *range(60)])
async def test_every_question_of_a_story_gets_exactly_its_evidence(seed: int | None) -> None:
    scenario = draw_scenario(seed)
    owner, term = scenario.ownership.quote, scenario.terms.quote

    assert await selected(scenario, scenario.ownership_question) == {owner}
    mixed = await selected(scenario, scenario.mixed_question)
    assert mixed == {owner, term, scenario.dataset.label}
    assert await selected(scenario, scenario.unanswerable_question) == set()
