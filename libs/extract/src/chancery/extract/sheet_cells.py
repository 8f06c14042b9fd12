"""The cells of a sheet: the styles that they name, and whether anybody sees them.

Cells are placed as the reader of their values places them. Where the two might read a sheet
differently, none of its cells has a style, so that no value is shown by the format of another; when
such a sheet hides a row or column it is refused, as nobody knows what of it is to be left out. So
is one with a value that its reader takes in part: a number with a reference, a comment or CDATA.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from chancery.extract.number_formats import NumberFormat
from chancery.extract.refusals import refusal
from chancery.extract.sheet_hiding import Hiding
from chancery.extract.sheet_places import COLUMNS_MAX, column_number, names, place, row_number

if TYPE_CHECKING:
    from xml.parsers import expat

_DATA, _ROW, _CELL, _VALUE = map(names, ("sheetData", "row", "c", "v"))
_BEGINNING_MAX: Final = 64
"""How much of a value is kept, which is enough to see its sign."""


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
        self._negative: set[int] = set()
        self._hiding = Hiding()
        self._format_of = format_of
        self._has_data = False
        self._row = self._next_row = self._next_column = 0
        self._row_name = "1"
        self._place = -1
        self._kind: str | None = None
        self._value: str | None = None
        self._begin = self._length = 0
        self._parser = parser
        # So that the first characters of a value tell where it begins.
        parser.buffer_text = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartCdataSectionHandler = self._begin_cdata

    def formats(self) -> Mapping[int, NumberFormat]:
        """Return the formats of the filled cells, by their places."""
        return self._found if self._is_regular else {}

    def unseen(self) -> frozenset[int]:
        """Return the places of the filled cells that a reader of the sheet sees nothing of.

        Negative numbers in a format of time are among them: they show no value, and were read as
        some time of day.

        Raises:
            UnreadableDocument: code `ambiguous_sheet` when something is hidden and it is not sure
                what.
        """
        covered = self._hiding.covered(self._filled)
        if not (
            self._is_regular and self._hiding.is_known and len(self._found) == len(self._filled)
        ):
            if self._hiding.hides_anything() or covered or not self._hiding.is_known:
                raise refusal("ambiguous_sheet")
            return frozenset(self._unsigned) if self._negative else frozenset()
        if not self._hiding.hides_anything():
            return covered | self._negative
        return covered | frozenset(filter(self._hiding.hides, self._filled)) | self._negative

    def give_up(self) -> None:
        """Place no cell from now on, and look only whether anything is hidden."""
        self._is_regular = False
        self._parser.StartElementHandler = self._look

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _CELL:
            self._kind = attributes.get("t")
            self._cell(attributes)
        elif tag in _VALUE:
            self._value, self._length = "", 0
        elif tag in _ROW:
            self._begin_row(attributes.get("r"))
            self._hiding.look(tag, attributes, self._row)
        elif tag in _DATA:
            if self._has_data:
                self.give_up()
            self._has_data = True
        else:
            self._hiding.look(tag, attributes)

    def _look(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _CELL:
            self._kind = attributes.get("t")
        elif tag in _VALUE:
            self._value, self._length = "", 0
        self._hiding.look(tag, attributes)

    def _end(self, tag: str) -> None:
        """Leave a value; note a negative number where a time of day was read."""
        if tag not in _VALUE or self._value is None:
            return
        value, self._value = self._value, None
        is_whole = not self._length or self._parser.CurrentByteIndex - self._begin == self._length
        if not is_whole and self._kind != "str":
            raise refusal("unreadable_document")
        is_read_as_time = self._place in self._unsigned or not self._is_regular
        if is_read_as_time and value.lstrip().startswith("-"):
            self._negative.add(self._place)

    def _begin_row(self, number: str | None) -> None:
        row = self._next_row if number is None else row_number(number)
        if row is None:
            self.give_up()
        else:
            self._row = row
        self._next_row, self._next_column = self._row + 1, 0
        self._row_name = str(self._next_row)

    def _cell(self, attributes: dict[str, str]) -> None:
        reference = attributes.get("r")
        column = self._next_column
        if reference is not None:
            column = column_number(reference.removesuffix(self._row_name))
        if column is None or column == COLUMNS_MAX:
            self.give_up()
            return
        self._next_column = column + 1
        self._place = place(self._row, column)
        if self._place in self._filled:
            self._found[self._place] = self._format_of(attributes.get("s", "0"))

    def _characters(self, text: str) -> None:
        if self._value is None:
            return
        if not self._length:
            self._begin = self._parser.CurrentByteIndex
        self._length += len(text.encode())
        if len(self._value) < _BEGINNING_MAX:
            self._value += text

    def _begin_cdata(self) -> None:
        if self._value is not None:
            raise refusal("unreadable_document")
