"""A seed draws a demo whose questions its own documents and measure answer, and no others."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.client.demo.scenario import Document, Scenario, draw_scenario
from chancery.events.authority import Measure
from chancery.evidence.sentences import sentences
from chancery.execution.domain.selection import Card, Material, Sentence, choose
from chancery.execution.domain.words import Stemmer, stemmer

SOURCES_MAX = 8
SEEDS = st.integers(min_value=0, max_value=2**32)


def candidates(document: Document, stems: Stemmer) -> list[Sentence]:
    text = document.text
    return [
        Sentence(
            document.source_id, 1, "part", start, end, 0, frozenset(stems.stems(text[start:end]))
        )
        for start, end in sentences(text, 0, len(text))
    ]


def card(scenario: Scenario, measure: Measure, stems: Stemmer) -> Card:
    words = (measure.name, measure.description, *measure.synonyms, scenario.dataset.label)
    key = scenario.dataset.dataset_id
    return Card(key, measure.name, frozenset(stems.stems(" ".join(words))))


def answers(scenario: Scenario, question: str, *, without_grant: bool = False) -> list[str]:
    stems = stemmer(scenario.language)
    documents = [scenario.terms] if without_grant else [scenario.ownership, scenario.terms]
    texts = {each.source_id: each.text for each in documents}
    material = Material(
        tuple(item for each in documents for item in candidates(each, stems)),
        (card(scenario, scenario.dataset.measure, stems),),
    )
    picks = choose(question, material, stems, sources_max=SOURCES_MAX).picks
    return [
        texts[pick.key][pick.start : pick.end] if isinstance(pick, Sentence) else pick.name
        for pick in picks
    ]


@pytest.mark.req("KO-4")
def test_the_story_of_the_documentation_is_the_qualification() -> None:
    scenario = draw_scenario()

    assert scenario.dataset.amounts == (Decimal(1250), Decimal(2750))
    assert scenario.dataset.total_shown == "4,000"
    assert scenario.dataset.label == "SUM(orders.amount)"
    assert scenario.ownership_question == "Who owns service reviews?"


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_each_question_is_answered_by_what_its_scenario_expects(seed: int) -> None:
    scenario = draw_scenario(seed)
    expected = [scenario.ownership.quote, scenario.terms.quote, scenario.dataset.measure.name]

    assert answers(scenario, scenario.ownership_question) == [scenario.ownership.quote]
    assert answers(scenario, scenario.mixed_question) == expected
    assert answers(scenario, scenario.unanswerable_question) == []
    assert answers(scenario, scenario.ownership_question, without_grant=True) == []


@given(SEEDS)
@settings(max_examples=50, deadline=None)
def test_a_seed_always_draws_the_same_and_the_sum_is_that_of_its_rows(seed: int) -> None:
    scenario = draw_scenario(seed)
    cells = [line.rsplit(",", 1)[1] for line in scenario.dataset.csv.splitlines()[1:]]

    assert draw_scenario(seed) == scenario
    assert sum(map(Decimal, cells)) == scenario.dataset.total
    assert scenario.ownership.quote in scenario.ownership.text


def test_ten_seeds_differ_in_more_than_their_number() -> None:
    drawn = [draw_scenario(seed) for seed in range(10)]

    assert len({each.dataset.total for each in drawn}) == 10
    assert len({each.mixed_question for each in drawn}) == 10
    assert {each.language for each in drawn} == {"en", "de"}
    assert len({each.dataset.label for each in drawn}) >= 4
