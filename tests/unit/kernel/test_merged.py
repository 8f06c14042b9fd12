"""Exactly the cells below a merged one are covered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chancery.kernel.merged import Area, Place, covered

_PLACES = st.tuples(st.integers(0, 6), st.integers(0, 6))


def is_covered(place: Place, area: Area) -> bool:
    (top, bottom), (left, right) = (sorted(each) for each in zip(*area, strict=True))
    is_within = top <= place[0] <= bottom and left <= place[1] <= right
    return is_within and place != (top, left)


@given(areas=st.lists(st.tuples(_PLACES, _PLACES), max_size=12), places=st.sets(_PLACES))
def test_what_lies_in_some_area_and_is_not_its_first_cell_is_covered(
    areas: list[Area], places: set[Place]
) -> None:
    found = list(covered(areas, sorted(places)))

    assert found == [each for each in sorted(places) if any(is_covered(each, a) for a in areas)]


def test_areas_that_overlap_everywhere_cost_no_more_than_others() -> None:
    areas: list[Area] = [((0, number % 99), (1_048_575, 16_383)) for number in range(2_000)]
    places = [(row, column) for row in range(4_000) for column in range(10)]

    assert len(list(covered(areas, places))) == len(places) - 1
