"""What is remembered stays within its bounds of weight and age, and the last used stays longest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chancery.release.adapters.remembered import Remembered


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=30))
def test_the_weights_stay_within_their_bound(kept: list[tuple[int, int]]) -> None:
    remembered = Remembered[int, int](10)
    weights: dict[int, int] = {}

    for key, weight in kept:
        remembered.keep(key, weight, weight)
        weights[key] = weight

    found = [key for key in weights if remembered.get(key) is not None]
    assert sum(weights[key] for key in found) <= 10
    if kept and kept[-1][1] <= 10:
        assert remembered.get(kept[-1][0]) == kept[-1][1]


def test_what_was_used_longest_ago_makes_room() -> None:
    remembered = Remembered[str, int](2)
    remembered.keep("a", 1, 1)
    remembered.keep("b", 2, 1)
    remembered.get("a")

    remembered.keep("c", 3, 1)

    assert [remembered.get(key) for key in "abc"] == [1, None, 3]


def test_what_is_too_old_is_forgotten() -> None:
    young, old = Remembered[str, int](2), Remembered[str, int](2, age_s_max=-1)
    young.keep("a", 1, 1)
    old.keep("a", 1, 1)

    assert (young.get("a"), old.get("a")) == (1, None)
