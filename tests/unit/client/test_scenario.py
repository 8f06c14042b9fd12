"""A seed draws a demo whose questions its own documents and measure answer, and no others."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chancery.client.demo import english, german
from chancery.client.demo.scenario import PEOPLE, Document, Scenario, draw_scenario
from chancery.events.run import Bounds
from chancery.evidence.manifest import MeasureCard
from chancery.execution.adapters import ExtractiveSelector
from chancery.execution.ports import OfferedMeasure, Passage, Question, SelectedMeasure

SEEDS = st.integers(min_value=0, max_value=2**32)


def passage(document: Document) -> Passage:
    """Return a document as one gathered passage."""
    return Passage(document.source_id, 1, "part", (0, len(document.text)), document.text)


def offered(scenario: Scenario) -> OfferedMeasure:
    """Return the declared measure as it is gathered."""
    measure, dataset = scenario.dataset.measure, scenario.dataset
    card = MeasureCard(
        name=measure.name,
        description=measure.description,
        synonyms=measure.synonyms,
        label=dataset.label,
        sql="SELECT 1",
        aggregate=measure.aggregate,
        column=measure.column,
    )
    return OfferedMeasure(dataset.dataset_id, 1, card)


async def answers(scenario: Scenario, question: str, *, without_grant: bool = False) -> list[str]:
    """Return what the selector of the product picks for a question of the scenario."""
    documents = [scenario.terms] if without_grant else [scenario.ownership, scenario.terms]
    texts = {each.source_id: each.text for each in documents}
    picks = await ExtractiveSelector().select(
        Question(question, scenario.language, Bounds()),
        [passage(each) for each in documents],
        [offered(scenario)],
    )
    return [
        pick.measure.card.name
        if isinstance(pick, SelectedMeasure)
        else texts[pick.key][slice(*pick.span)]
        for pick in picks
    ]


@pytest.mark.req("KO-4")
def test_the_story_of_the_documentation_is_the_qualification() -> None:
    scenario = draw_scenario()

    assert scenario.dataset.amounts == (Decimal(1250), Decimal(2750))
    assert scenario.dataset.total_shown == "4,000"
    assert scenario.dataset.label == "SUM(orders.amount)"
    assert scenario.ownership_question == "Who owns service reviews?"


def test_nobody_is_called_like_what_a_question_is_about() -> None:
    """A Mrs Price would be the answer to who decides on prices."""
    told = re.findall(r"\w+", f"{english.WORDING} {german.WORDING}".lower())

    names = {word.lower() for person in PEOPLE for word in person.split()}

    assert names & {form for word in told for form in (word, word.removesuffix("s"))} == set()
    assert {"price", "review"} <= {word.removesuffix("s") for word in told}


@given(SEEDS)
@settings(max_examples=150, deadline=None)
async def test_each_question_is_answered_by_what_its_scenario_expects(seed: int) -> None:
    scenario = draw_scenario(seed)
    expected = [scenario.ownership.quote, scenario.terms.quote, scenario.dataset.measure.name]

    assert await answers(scenario, scenario.ownership_question) == [scenario.ownership.quote]
    assert await answers(scenario, scenario.mixed_question) == expected
    assert await answers(scenario, scenario.unanswerable_question) == []
    assert await answers(scenario, scenario.ownership_question, without_grant=True) == []


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
