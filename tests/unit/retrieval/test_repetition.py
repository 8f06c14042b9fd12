"""Which words a passage says again, out of the filter beside its entry."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.terms import STOP_WORDS
from chancery.retrieval.domain.repetition import COLUMNS, repeated, repetitions

_WORDS = st.text("abcdefgh", min_size=1, max_size=9)


def _again(word: str, *texts: str) -> tuple[int, ...]:
    filters = [repeated(text) for text in texts]

    def column(number: int) -> Sequence[int]:
        return [found[number] for found in filters]

    again = dict(repetitions(word, column))
    return tuple(again.get(entry, 0) for entry in range(len(texts)))


def test_a_word_is_told_to_stand_once_twice_or_more() -> None:
    texts = (
        "budget",
        "budget, budget",
        "Budget BUDGET budget",
        "a budget for budgets of budgeting",
    )

    assert _again("budget", *texts) == (0, 1, 2, 2)
    assert _again("turbine", *texts) == (0, 0, 0, 0)


@pytest.mark.parametrize("text", ["", "!?", "___", "\u0301"])
def test_what_holds_no_word_repeats_none(text: str) -> None:
    assert repeated(text) == (0,) * COLUMNS
    assert _again(text, "budget budget", text) == (0, 0)


def test_stop_words_take_no_place() -> None:
    assert repeated("the budget of the board and of the council") == (0,) * COLUMNS
    assert repeated("theatre and theatre") != (0,) * COLUMNS


@pytest.mark.parametrize("word", ["shoulder", "becausality", "welcherlei", "throughput"])
def test_a_word_that_begins_like_a_stop_word_counts(word: str) -> None:
    assert _again(word, f"{word} to {word}") == (1,)


def test_letters_of_any_script_make_words() -> None:
    assert _again("бюджет", "бюджет и бюджет", "Бюджета бюджет бюджету") == (1, 2)
    assert _again("東", "東 京 東 京") == (1,)
    assert _again("left", "left_right left") == (1,)


@given(st.lists(_WORDS, min_size=1, max_size=40))
def test_no_repetition_is_missed(words: list[str]) -> None:
    text = " ".join(words)
    beginnings = [word[:6] for word in words]

    found = {word: _again(word, text)[0] for word in words}

    assert all(
        times >= min(beginnings.count(word[:6]) - 1, 2)
        for word, times in found.items()
        if word not in STOP_WORDS
    )


@given(st.lists(_WORDS, min_size=1, max_size=20, unique_by=lambda word: word[:6]))
def test_a_passage_without_repetition_has_an_empty_filter(words: list[str]) -> None:
    assert repeated(" ".join(words)) == (0,) * COLUMNS


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_read_like_any_other_text(text: str) -> None:
    assert repeated(text) == repeated(f"{text} \u2014")
