"""The order of codes: what a word weighs is counted in the found entries alone."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chancery.retrieval.domain.ranking import Weights, leading

_WORDS = 5
_CODES = st.lists(st.integers(1, 2**_WORDS - 1), min_size=1, max_size=30)


def test_the_rarer_word_weighs_more() -> None:
    first, second = 1, 2

    weights = Weights.counted({first: 2, second: 9}, 2)

    assert weights.score(first) > weights.score(second) > 0


def test_a_word_that_is_said_again_weighs_more_each_time_and_ever_less_so() -> None:
    weights = Weights.counted({1: 3, 2: 3}, 2)

    once, twice, thrice, other = weights.scores([1, 1, 1, 2], [[(1, 1), (2, 2), (3, 2)], []])

    assert thrice > twice > once == other == weights.score(1)
    assert thrice - twice < twice - once


def test_words_of_equal_frequency_are_returned_together_or_not_at_all() -> None:
    first, second, both = 1, 2, 3
    found = {both: 1, first: 1, second: 1}
    weights = Weights.counted(found, 2)

    assert leading(found, weights, 1) == [both]
    assert leading(found, weights, 2) == [both, first, second]


@given(_CODES, st.integers(1, 40))
def test_what_leads_is_enough_and_better_than_the_rest(codes: list[int], least: int) -> None:
    found = Counter(codes)
    weights = Weights.counted(found, _WORDS)

    led = leading(found, weights, least)

    scores = list(map(weights.score, led))
    assert sum(found[code] for code in led) >= min(least, len(codes))
    assert scores == sorted(scores, reverse=True)
    assert all(weights.score(code) < scores[-1] for code in found if code not in led)


@given(_CODES, st.randoms(use_true_random=False))
def test_the_order_in_which_entries_are_found_does_not_matter(
    codes: list[int], draw: random.Random
) -> None:
    found, shuffled = Counter(codes), Counter(draw.sample(codes, len(codes)))
    weights = Weights.counted(found, _WORDS)

    assert Weights.counted(shuffled, _WORDS) == weights
    assert leading(found, weights, 5) == leading(shuffled, weights, 5)
