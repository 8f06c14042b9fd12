"""Pages, lines and cells found from offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chancery.evidence.layout import (
    Cell,
    CellPlace,
    Layout,
    PageLayout,
    Rectangle,
    SheetLayout,
    cells,
    page_of,
    rectangles,
)
from chancery.kernel.errors import Corrupt

_LAYOUT = Layout(
    pages=(
        PageLayout(
            box=(0, 0, 61200, 79200),
            rotation=0,
            lines=((0, 4, 100, 250, 300, 400), (5, 9, 1, 2, 3, 4)),
        ),
        PageLayout(box=(0, 0, 100, 100), rotation=90, lines=((11, 15, 0, 0, 100, 100),)),
    ),
    sheets=(SheetLayout(name="S", cells=((2, 5, 0, 0, "text", "007"),)),),
)


@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any))
def test_every_offset_stands_on_the_page_that_holds_it(lengths: list[int]) -> None:
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    expected = [page for page, length in enumerate(lengths, start=1) for _ in range(length)]

    assert [page_of(starts, offset) for offset in range(sum(lengths))] == expected


def test_an_offset_of_a_text_without_pages_has_no_page() -> None:
    assert page_of((), 7) is None


@pytest.mark.parametrize(
    ("start", "end", "pages"), [(0, 4, [1]), (3, 6, [1, 1]), (4, 5, []), (8, 12, [1, 2])]
)
def test_a_range_has_the_rectangles_of_the_lines_that_it_touches(
    start: int, end: int, pages: list[int]
) -> None:
    assert [each.page for each in rectangles(_LAYOUT, start, end)] == pages


def test_places_are_in_points_and_by_the_names_that_people_use() -> None:
    assert rectangles(_LAYOUT, 0, 1) == (Rectangle(1, 1.0, 2.5, 3.0, 4.0),)
    assert cells(_LAYOUT, 4, 9) == (CellPlace("S", "A1", "text", "007"),)
    assert cells(_LAYOUT, 5, 9) == ()


@given(
    lengths=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=30),
    start=st.integers(0, 120),
    size=st.integers(1, 40),
)
def test_what_is_found_quickly_is_what_touches_the_range(
    lengths: list[tuple[int, int]], start: int, size: int
) -> None:
    entries: list[Cell] = []
    offset = 0
    for row, (gap, length) in enumerate(lengths):
        entries.append((offset + gap, offset + gap + length, row, 0, "text", ""))
        offset += gap + length
    layout = Layout(sheets=(SheetLayout(name="S", cells=tuple(entries)),))

    found = [each.cell for each in cells(layout, start, start + size)]

    assert found == [f"A{row + 1}" for first, last, row, *_ in entries
                     if first < start + size and start < last]  # fmt: skip


def test_a_layout_survives_its_bytes() -> None:
    assert Layout.from_bytes(_LAYOUT.to_bytes()) == _LAYOUT


@pytest.mark.parametrize("data", [b"", b"{}x", b'{"more":1}', b'{"pages":[{"box":[1]}]}'])
def test_other_bytes_are_no_layout(data: bytes) -> None:
    with pytest.raises(Corrupt) as refused:
        Layout.from_bytes(data)

    assert refused.value.code == "malformed_layout"
