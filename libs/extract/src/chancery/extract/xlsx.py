"""Workbooks as documents: each visible sheet's name, then its filled cells row by row.

A cell shows its value, not its number format, which the reader does not know: 0.05 is not `5%`.
Numbers are shown without a needless fraction, dates in ISO form; texts stay as they are, `007`
included. Cells of a row are parted by a tab, rows by a line break, sheets by an empty line.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from typing import Final, TypeAlias

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from chancery.evidence.layout import Cell, Layout, SheetLayout, ValueType
from chancery.extract.archive import Package
from chancery.extract.limits import CELLS_MAX, TEXT_CHARACTERS_MAX
from chancery.extract.refusals import refusal

_Value: TypeAlias = (
    int | float | str | bool | dt.time | dt.date | dt.datetime
    | dt.timedelta
)  # fmt: skip
_EXACT_MAX: Final = 1e15
"""Spreadsheets keep 15 digits; larger numbers are shown as powers of ten."""


def read_xlsx(data: bytes) -> tuple[str, Layout]:
    """Return the text of a workbook and where its cells are.

    Raises:
        UnreadableDocument: see `Package`; code `wrong_media_type` when it is another kind of
            package, `too_many_cells`, `text_too_long`, or `no_text` when no sheet shows anything.
    """
    package = Package(data)
    if not package.main_part().startswith("xl/"):
        raise refusal("wrong_media_type")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        writer = _Writer()
        for sheet in workbook.sheets_metadata:
            is_shown = sheet.visible == SheetVisibleEnum.Visible
            if is_shown and sheet.typ == SheetTypeEnum.WorkSheet:
                writer.add_sheet(workbook.get_sheet_by_name(sheet.name))
    except CalamineError as error:
        raise refusal("unreadable_document") from error
    if not any(sheet.cells for sheet in writer.sheets):
        raise refusal("no_text")
    return writer.text, Layout(sheets=tuple(writer.sheets))


class _Writer:
    """Puts the cells together and notes where each one stands."""

    def __init__(self) -> None:
        self.sheets: list[SheetLayout] = []
        self._pieces: list[str] = []
        self._length = 0
        self._count = 0

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def add_sheet(self, sheet: CalamineSheet) -> None:
        """Append a sheet that has a filled cell."""
        first_row, first_column = sheet.start or (0, 0)
        cells: list[Cell] = []
        for row, values in enumerate(sheet.to_python(), start=first_row):
            filled = [(column, v) for column, v in enumerate(values, first_column) if v != ""]
            if not filled:
                continue
            if not cells:
                self._put("\n\n" if self._pieces else "")
                self._put(sheet.name)
            cells.extend(self._row(row, filled))
        self.sheets.append(SheetLayout(name=sheet.name, cells=tuple(cells)))

    def _row(self, row: int, filled: Sequence[tuple[int, _Value]]) -> list[Cell]:
        self._count += len(filled)
        if self._count > CELLS_MAX:
            raise refusal("too_many_cells")
        found: list[Cell] = []
        separator = "\n"
        for column, value in filled:
            self._put(separator)
            kind, canonical, shown = _shown(value)
            start = self._length
            self._put(shown)
            if self._length > TEXT_CHARACTERS_MAX:
                raise refusal("text_too_long")
            found.append((start, self._length, row, column, kind, canonical))
            separator = "\t"
        return found

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


def _shown(value: _Value) -> tuple[ValueType, str, str]:
    """Return the type of a value, its canonical text, and the text that is shown."""
    match value:
        case bool():
            return "boolean", str(value).lower(), str(value).upper()
        case int() | float():
            return "number", repr(value), _number(value)
        case dt.datetime():
            return "datetime", value.isoformat(), value.isoformat(sep=" ")
        case dt.date():
            return "date", value.isoformat(), value.isoformat()
        case dt.time():
            return "time", value.isoformat(), value.isoformat()
        case dt.timedelta():
            return "duration", f"PT{value.total_seconds():g}S", str(value)
        case str():
            return "text", value, value


def _number(value: float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_MAX:
        return str(int(value))
    return repr(value)
