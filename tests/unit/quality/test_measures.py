"""The arithmetic behind the figures of quality."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.quality.measures import below, characters, common, holds, mean, recall, threshold_for
from tests.quality.report import Figure, table

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda one: (one[0], one[0] + one[1])),
    min_size=1,
    max_size=6,
)


@given(SPANS, SPANS)
def test_unions_are_counted_like_sets_of_offsets(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    first = {place for span in one for place in range(*span)}
    second = {place for span in other for place in range(*span)}

    assert characters(one) == len(first)
    assert common(one, other) == len(first & second)
    assert recall(one, other) == len(first & second) / len(first)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.floats(0.01, 1))
def test_the_threshold_refuses_as_much_as_it_must(values: list[float], share: float) -> None:
    assert below(values, threshold_for(values, share)) >= share


def test_a_span_holds_another_only_whole() -> None:
    assert holds((3, 9), [(3, 9), (4, 5)])
    assert not holds((3, 9), [(2, 5)])


def test_the_mean_of_nothing_is_zero() -> None:
    assert mean([]) == 0.0
    assert mean([1, 2]) == 1.5


def test_a_missed_target_is_marked() -> None:
    lines = table([Figure("a", 0.5, least=0.6), Figure("b", 0.5, most=0.5)]).splitlines()

    assert [line[:3] for line in lines] == ["LOW", "ok "]
