"""What is quoted of a longer text: enough of it, once, within its bounds, and nothing beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.events.run import Bounds
from chancery.evidence.manifest import build_manifest
from chancery.evidence.quote import resolve_quote
from chancery.execution.adapters import ExtractiveSelector, material_of
from chancery.execution.domain.hints import offers, wanted
from chancery.execution.domain.quoting import Limits
from chancery.execution.domain.selection import highest_confidence
from chancery.execution.domain.words import beginnings, may_be_related, related, stemmer
from chancery.execution.ports import Passage, Question, SelectedQuote, Statistics

FILLER = "Nothing of note happened elsewhere in that long and quiet season. "
HISTORY = (
    "# The harbour of Vallis\n\n"
    + FILLER * 3
    + "The old lighthouse was built in 1871 by the engineer Marta Ilves. "
    + "Its lamp burned oil for two decades. "
    + FILLER * 3
)


def passages_of(text: str, key: str = "harbour") -> tuple[Passage, ...]:
    """Return each part of `text` as one passage."""
    manifest = build_manifest(key, 1, content_sha256="a" * 64, extractor="text/1", text=text)
    return tuple(
        Passage(key, 1, part.part_id, (part.start, part.end), text) for part in manifest.parts
    )


async def quoted(
    question: str, text: str, limits: Limits | None = None, statistics: Statistics | None = None
) -> list[str]:
    """Return what is quoted of `text`."""
    selector = ExtractiveSelector(limits or Limits())
    asked = Question(question, "en", Bounds(), statistics)
    selected = await selector.select(asked, passages_of(text), ())
    return [text[slice(*one.span)] for one in selected if isinstance(one, SelectedQuote)]


@pytest.mark.req("KO-4")
async def test_a_sentence_that_says_everything_asked_stands_alone() -> None:
    found = await quoted("When was the old lighthouse built?", HISTORY)

    assert found == ["The old lighthouse was built in 1871 by the engineer Marta Ilves."]


async def test_a_sentence_that_leaves_something_open_brings_its_neighbours() -> None:
    found = await quoted("For how many decades did the lighthouse burn oil?", HISTORY)

    assert "Its lamp burned oil for two decades." in found[0]
    assert "The old lighthouse was built in 1871" in found[0]


async def test_a_heading_is_never_the_quotation() -> None:
    found = await quoted("What is the harbour of Vallis?", HISTORY)

    assert all("harbour of Vallis" not in one for one in found)


async def test_the_first_of_equal_sentences_is_quoted_once() -> None:
    sentence = "The old lighthouse was built in 1871 by Marta Ilves."
    text = f"{FILLER}{sentence} {FILLER * 2}{sentence} {FILLER}"

    asked = Question("When was the old lighthouse built?", "en", Bounds())
    (only,) = await ExtractiveSelector().select(asked, passages_of(text), ())

    assert isinstance(only, SelectedQuote)
    assert only.span[0] == text.index(sentence)


async def test_a_sentence_above_the_bound_is_cut_between_clauses_around_what_was_asked() -> None:
    clauses = ", ".join(f"the ward of saint number {n} kept its own records" for n in range(12))
    text = f"In that year {clauses}, the lighthouse keeper earned forty crowns, and {clauses}."

    found = await quoted("How much did the lighthouse keeper earn?", text, Limits())

    assert found
    assert all(len(one) <= 600 for one in found)
    assert "the lighthouse keeper earned forty crowns" in found[0]


@pytest.mark.req("KO-23")
async def test_words_that_are_common_in_the_scope_carry_no_answer_alone() -> None:
    text = "The annual report names the yearly figures of the company. " + FILLER
    question = "Which figures does the annual report of the dockworkers union name?"

    common = Statistics(counts=(900, 800, 850, 0, 0, 700), total=1000)
    rare = Statistics(counts=(2, 2, 2, 990, 990, 2), total=1000)

    assert await quoted(question, text, statistics=common) == []
    assert await quoted(question, text, statistics=rare) != []


def test_the_confidence_grows_with_what_is_covered() -> None:
    passages = passages_of(HISTORY)

    def sure(question: str) -> float:
        asked = Question(question, "en", Bounds())
        return highest_confidence(question, material_of(asked, passages, ()), stemmer("en"))

    assert sure("When was the old lighthouse built?") > sure("When was the old mill built?")
    assert sure("When was the old mill built?") > sure("When was the telescope sold?") >= 0
    assert sure("?!") == 0


@given(st.text(max_size=120), st.text(max_size=2500), st.integers(20, 700))
async def test_every_quotation_resolves_within_the_limits(
    question: str, text: str, bound: int
) -> None:
    limits = Limits(characters_max=bound)
    manifest = build_manifest("harbour", 1, content_sha256="a" * 64, extractor="t/1", text=text)

    selected = await ExtractiveSelector(limits, confidence_min=0.0).select(
        Question(question + text[:50], "en", Bounds()), passages_of(text), ()
    )

    for one in selected:
        assert isinstance(one, SelectedQuote)
        assert one.span[1] - one.span[0] <= bound
        resolved = resolve_quote(text, manifest, one.part_id, *one.span)
        assert resolved == text[slice(*one.span)]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many ships sank?", "number"),
        ("Wie viele Schiffe sanken?", "number"),
        ("In which year did it sink?", "date"),
        ("Wann sank es?", "date"),
        ("Who was captain?", "name"),
        ("Wo liegt es?", "name"),
        ("Why did it sink?", None),
    ],
)
def test_the_question_word_says_what_is_wanted(question: str, kind: str | None) -> None:
    assert wanted(question) == kind


def test_a_text_offers_a_number_a_date_or_a_name_that_was_not_asked_with() -> None:
    assert offers("Some 20 ships sank.", "number", "")
    assert not offers("Some ships sank.", "number", "")
    assert offers("It sank in May.", "date", "")
    assert not offers("It sank soon.", "date", "")
    assert offers("It sank off Cape Horn.", "name", "where did the ship sink")
    assert not offers("Soon the Vesta sank.", "name", "Where did the Vesta sink?")


@pytest.mark.parametrize(
    ("stem", "word", "is_related"),
    [
        ("compos", "composit", True),
        ("invad", "invas", True),
        ("adapt", "adaptor", True),
        ("ship", "shipment", True),
        ("ship", "ship", False),
        ("2011", "20112", False),
        ("oar", "oarsmen", False),
    ],
)
def test_words_that_differ_in_their_ending_are_related(
    stem: str, word: str, is_related: bool
) -> None:
    assert related(stem, (word,)) is is_related


@given(st.text(min_size=1, max_size=12), st.lists(st.text(min_size=1, max_size=12), max_size=5))
def test_the_quick_look_misses_no_related_word(stem: str, words: list[str]) -> None:
    if related(stem, words):
        assert may_be_related(stem, beginnings(words))
