"""The cells of a sheet and the styles that they name.

Cells are placed as the reader of their values places them. Where the two might read a sheet
differently, none of its cells has a style, so that no value is shown by the format of another.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from chancery.extract.number_formats import PLAIN, NumberFormat
from chancery.extract.styles import SHEET_NAMESPACES

if TYPE_CHECKING:
    from xml.parsers import expat

COLUMNS_MAX: Final = 16_384
ROWS_MAX: Final = 1_048_576
_COLUMN: Final = re.compile(r"[A-Z]{1,3}")
_ROW_NUMBER: Final = re.compile(r"[0-9]{1,7}")
_LETTERS: Final = 26


def place(row: int, column: int) -> int:
    """Return the number of a cell of a sheet; rows and columns begin with 0."""
    return row * COLUMNS_MAX + column


def names(local: str) -> frozenset[str]:
    """Return what a parser calls the elements of workbooks of this name."""
    return frozenset(f"{namespace} {local}" for namespace in SHEET_NAMESPACES)


_DATA, _ROW, _CELL, _VALUE = map(names, ("sheetData", "row", "c", "v"))


class SheetCells:
    """Follows the cells of a sheet and keeps the formats of those that are filled."""

    def __init__(
        self,
        parser: expat.XMLParserType,
        filled: Mapping[int, object],
        format_of: Callable[[str], NumberFormat],
    ) -> None:
        """Listen to `parser`; `filled` are the values that were read, by their places.

        `format_of` is asked for the format of a style by its number.
        """
        self._found: dict[int, NumberFormat] = {}
        self._is_regular = True
        self._filled = filled
        self._unsigned = {each for each, value in filled.items() if isinstance(value, dt.time)}
        self._format_of = format_of
        self._has_data = False
        self._row = self._next_row = self._next_column = 0
        self._row_name = "1"
        self._place = -1
        self._is_value = False
        self._parser = parser
        parser.StartElementHandler = self._start
        if self._unsigned:
            parser.CharacterDataHandler = self._characters

    def formats(self) -> Mapping[int, NumberFormat]:
        """Return the formats of the filled cells, by their places."""
        return self._found if self._is_regular else {}

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _CELL:
            self._cell(attributes)
        elif tag in _VALUE:
            self._is_value = True
        elif tag in _ROW:
            self._begin_row(attributes.get("r"))
        elif tag in _DATA:
            if self._has_data:
                self._give_up()
            self._has_data = True

    def _begin_row(self, number: str | None) -> None:
        if number is None:
            self._row = self._next_row
        elif _ROW_NUMBER.fullmatch(number) and 0 < int(number) <= ROWS_MAX:
            self._row = int(number) - 1
        else:
            self._give_up()
        self._next_row, self._next_column = self._row + 1, 0
        self._row_name = str(self._next_row)

    def _cell(self, attributes: dict[str, str]) -> None:
        reference = attributes.get("r")
        column = self._next_column
        if reference is not None:
            column = _column_number(reference.removesuffix(self._row_name))
        if column is None or column == COLUMNS_MAX:
            self._give_up()
            return
        self._next_column = column + 1
        self._place = place(self._row, column)
        self._is_value = False
        if self._place in self._filled:
            self._found[self._place] = self._format_of(attributes.get("s", "0"))

    def _characters(self, text: str) -> None:
        """Give up the format of a negative number, which was read as some time of day."""
        if self._is_value and self._place in self._unsigned and "-" in text:
            self._found[self._place] = PLAIN

    def _give_up(self) -> None:
        self._is_regular = False
        self._parser.StartElementHandler = None


@cache
def _column_number(letters: str) -> int | None:
    """Return the number of a column, `A` is 0, `AB` is 27, or None when there is none."""
    if not _COLUMN.fullmatch(letters):
        return None
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number - 1 if number <= COLUMNS_MAX else None
