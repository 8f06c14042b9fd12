"""Workbooks as documents: each visible sheet's name, then its filled cells row by row.

A cell shows its value by its number format, `5%`, as far as that can be rendered exactly, and else
in a plain form: numbers without a needless fraction, dates in ISO form, texts as they are, `007`
included. What its format hides is left out with its value, and so are the cells of hidden rows and
columns and those below a merged one. Cells of a row are parted by a tab, rows by a line break,
sheets by an empty line.
"""

from __future__ import annotations

import datetime as dt
import io
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
from chancery.extract.sheet_places import COLUMNS_MAX, place
from chancery.extract.workbook_formats import WorkbookFormats
from chancery.kernel.blank import is_blank

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
            package, `too_many_cells`, `text_too_long`, `ambiguous_sheet` (see `SheetCells`),
            `unreadable_document` also when two sheets have one name, or `no_text` when no sheet
            shows anything.
    """
    package = Package(data)
    main = package.main_part()
    if not (main.startswith("xl/") and main.endswith(".xml")):
        raise refusal("wrong_media_type")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        writer = _Writer(WorkbookFormats(package, main))
        sheets = workbook.sheets_metadata
        if len({each.name for each in sheets}) < len(sheets):
            # A sheet is read by its name: another one, a hidden one, would be read in its place.
            raise refusal("unreadable_document")
        for sheet in sheets:
            is_shown = sheet.visible == SheetVisibleEnum.Visible
            if is_shown and sheet.typ == SheetTypeEnum.WorkSheet:
                writer.add_sheet(workbook.get_sheet_by_name(sheet.name))
    except CalamineError as error:
        raise refusal("unreadable_document") from error
    if writer.is_blank:
        raise refusal("no_text")
    return writer.text, Layout(sheets=tuple(writer.sheets))


class _Writer:
    """Puts the cells together and notes where each one stands."""

    def __init__(self, formats: WorkbookFormats) -> None:
        self.sheets: list[SheetLayout] = []
        self.is_blank = True
        """Whether no cell so far shows anything."""
        self._formats = formats
        self._pieces: list[str] = []
        self._length = 0
        self._count = 0

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(self._pieces)

    def add_sheet(self, sheet: CalamineSheet) -> None:
        """Append a sheet that has a cell which shows something."""
        filled = _filled(sheet)
        self._count += len(filled)
        if self._count > CELLS_MAX:
            raise refusal("too_many_cells")
        formats = self._formats.of_sheet(sheet.name, filled)
        cells: list[Cell] = []
        last_row = -1
        for where, value in filled.items():
            kind, canonical, plain = _plain(value)
            shown = formats.shown(where, value)
            if shown == "":
                continue
            row, column = divmod(where, COLUMNS_MAX)
            if not cells:
                self._put("\n\n" if self._pieces else "")
                self._put(sheet.name)
            self._put("\t" if row == last_row else "\n")
            start = self._length
            seen = plain if shown is None else shown
            self._put(seen)
            self.is_blank = self.is_blank and is_blank(seen)
            if self._length > TEXT_CHARACTERS_MAX:
                raise refusal("text_too_long")
            cells.append((start, self._length, row, column, kind, canonical))
            last_row = row
        self.sheets.append(SheetLayout(name=sheet.name, cells=tuple(cells)))

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


def _filled(sheet: CalamineSheet) -> dict[int, _Value]:
    """Return the values of a sheet by their places, row by row."""
    first_row, first_column = sheet.start or (0, 0)
    return {
        place(row, column): value
        for row, values in enumerate(sheet.to_python(), start=first_row)
        for column, value in enumerate(values, first_column)
        if value != ""
    }


def _plain(value: _Value) -> tuple[ValueType, str, str]:
    """Return the type of a value, its canonical text, and its plain form."""
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
