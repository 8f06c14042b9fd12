"""Each fixed text exists in each language, says what it must, and holds no placeholder."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from chancery.events.authority import Language
from chancery.events.release import Outcome
from chancery.evidence.limits import limits
from chancery.evidence.texts import (
    LANGUAGES,
    TEMPLATE_VERSION,
    UnknownTemplate,
    explanation,
    fixed_text,
    introduction,
    place_words,
    regeneration_notice,
    withheld_notice,
)

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
REFINES = {"en": "refine", "de": "präzisieren", "fr": "préciser", "es": "Precise", "ja": "具体的"}
ANOTHER = {
    "en": "another source",
    "de": "andere Quelle",
    "fr": "autre source",
    "es": "otra fuente",
    "ja": "別の情報源",
}


def every_text(language: Language) -> list[str]:
    explanations = [explanation(outcome, language) for outcome in OUTCOMES]
    notices = [withheld_notice(language), regeneration_notice(language)]
    return [introduction(language), fixed_text("part", language), *explanations, *notices]


def test_the_languages_are_those_of_a_policy() -> None:
    assert get_args(Language) == LANGUAGES
    assert len(OUTCOMES) == 6


@pytest.mark.req("KO-9")
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_exists_is_distinct_and_holds_no_placeholder(language: Language) -> None:
    texts = every_text(language)

    assert len(set(texts)) == len(texts)
    for text in texts:
        assert text == text.strip()
        assert re.search(r"[{}%$<>\[\]\n\t]|\s\s", text) is None


@pytest.mark.req("KO-9")
def test_no_language_borrows_a_text_of_another() -> None:
    every = [text for language in LANGUAGES for text in every_text(language)]

    assert len(set(every)) == len(every)


@pytest.mark.req("KO-9")
@pytest.mark.parametrize("language", LANGUAGES)
def test_insufficient_evidence_asks_to_refine_or_choose_another_source(language: Language) -> None:
    text = explanation("insufficient_evidence", language)

    assert REFINES[language] in text
    assert ANOTHER[language] in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_sentences_end_with_a_full_stop(language: Language) -> None:
    for text in every_text(language):
        if text != fixed_text("part", language):
            assert text[-1] in ".。"


@pytest.mark.req("KO-26")
def test_the_limits_are_told_in_every_language() -> None:
    every = [limit for language in LANGUAGES for limit in limits(language)]

    assert len(set(every)) == 3 * len(LANGUAGES)
    assert all(limit[-1] in ".。" for limit in every)
    assert "Provenance" in limits("en")[0]
    assert "database" in limits("en")[1]
    assert "recalled" in limits("en")[2]


@pytest.mark.req("KO-9")
def test_every_language_has_its_words_for_a_place() -> None:
    words = {language: place_words(language) for language in LANGUAGES}

    assert words == {
        "en": ("page", "part"),
        "de": ("Seite", "Teil"),
        "fr": ("page", "partie"),
        "es": ("página", "parte"),
        "ja": ("ページ", "パート"),
    }


def test_a_template_that_this_build_does_not_have_is_refused() -> None:
    assert introduction("en", TEMPLATE_VERSION) == introduction("en")
    with pytest.raises(UnknownTemplate):
        introduction("en", "0")
