"""Where the pieces of a canonical text stand in the document: lines on pages, cells in sheets.

A layout is a blob of its own beside the text; the manifest names it by hash. It is for showing a
place to people: what is proven is the text, the page map and the hash.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chancery.events.envelope import Many
from chancery.kernel.errors import Corrupt

LAYOUT_BYTES_MAX: Final = 96 * 1024 * 1024
POINT_PARTS: Final = 100
"""Lengths on a page are hundredths of a point."""

_LETTERS: Final = 26

Offset: TypeAlias = Annotated[int, Field(ge=0)]
Line: TypeAlias = tuple[Offset, Offset, int, int, int, int]
"""Start and end of its text, then left, bottom, right and top in the page's own space."""

ValueType: TypeAlias = Literal["text", "number", "boolean", "date", "datetime", "time", "duration"]
Cell: TypeAlias = tuple[Offset, Offset, Offset, Offset, ValueType, str]
"""Start and end of its text, then row and column (0 is the first), and its typed value."""


E = TypeVar("E", Line, Cell)


class _Layout(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PageLayout(_Layout):
    """A page's visible box (left, bottom, right, top), its rotation in degrees, and its lines."""

    box: tuple[int, int, int, int]
    rotation: int = Field(ge=0, lt=360)
    lines: Many[Line]


class SheetLayout(_Layout):
    """A sheet's name and its filled cells, in the order of the text."""

    name: str
    cells: Many[Cell]


class Layout(_Layout):
    """The pages or the sheets of one canonical text."""

    format: Literal["chancery.layout/1"] = "chancery.layout/1"
    pages: Many[PageLayout] = ()
    sheets: Many[SheetLayout] = ()

    def to_bytes(self) -> bytes:
        """Return the bytes that are stored and hashed."""
        return self.model_dump_json().encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Layout:
        """Return the layout in `data`.

        Raises:
            Corrupt: code `malformed_layout`.
        """
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            message = "the bytes are no layout"
            raise Corrupt(message, code="malformed_layout") from error


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A piece of a line on a page (the first is 1), in points of the page's own space."""

    page: int
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell by the names that people use, `Sheet1` and `B7`, with its typed value."""

    sheet: str
    cell: str
    type: ValueType
    value: str


def page_of(pages: Sequence[int], offset: int) -> int | None:
    """Return the page on which `offset` stands (the first is 1), or None without a page map.

    `pages` are the offsets at which pages begin; of several that begin together only the last has
    text.
    """
    return bisect_right(pages, offset) or None


def rectangles(layout: Layout, start: int, end: int) -> tuple[Rectangle, ...]:
    """Return the lines that [start, end) touches, in the order of the text."""
    return tuple(
        Rectangle(number, *(each / POINT_PARTS for each in place))
        for number, page in enumerate(layout.pages, start=1)
        for _, _, *place in _touched(page.lines, start, end)
    )


def cells(layout: Layout, start: int, end: int) -> tuple[CellPlace, ...]:
    """Return the cells that [start, end) touches, in the order of the text."""
    return tuple(
        CellPlace(sheet.name, cell_name(row, column), kind, value)
        for sheet in layout.sheets
        for _, _, row, column, kind, value in _touched(sheet.cells, start, end)
    )


def _touched(entries: Sequence[E], start: int, end: int) -> Iterator[E]:
    """Yield the entries, which stand in the order of the text, that [start, end) touches."""
    if not entries or entries[0][0] >= end or entries[-1][1] <= start:
        return
    first = bisect_right(entries, start, key=lambda entry: entry[1])
    yield from takewhile(lambda entry: entry[0] < end, islice(entries, first, None))


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell: (0, 0) is `A1`, (6, 27) is `AB7`."""
    letters = ""
    left = column + 1
    while left:
        left, letter = divmod(left - 1, _LETTERS)
        letters = chr(ord("A") + letter) + letters
    return letters + str(row + 1)
