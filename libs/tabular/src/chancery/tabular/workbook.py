"""The first sheet of a workbook as a table of texts, read in a process that may be killed.

The first row names the columns. Numbers are written with the fewest digits that read back the same,
without exponents; a column with one text cell is text, so `007` stays what it is. A spreadsheet
keeps numbers as DOUBLE: digits beyond its 15 are lost before the file is written. A cell that shows
an error or has no value of its own refuses the file: as an empty one it would make a sum wrong.
"""

from __future__ import annotations

import datetime as dt
import io
import zipfile
import zlib
from collections.abc import Collection, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from python_calamine import CalamineError, CalamineWorkbook

from chancery.kernel.errors import Rejected, TooLarge
from chancery.kernel.merged import covered
from chancery.tabular.csv import ROWS_MAX
from chancery.tabular.formats import unreadable
from chancery.tabular.names import COLUMNS_MAX, check_names
from chancery.tabular.schema import fold
from chancery.tabular.sheet_extent import CELLS_MAX
from chancery.tabular.sheet_xml import Told, cell_error, read_first_sheet

if TYPE_CHECKING:
    from collections.abc import Generator

UNPACKED_BYTES_MAX = 256 * 1024 * 1024

Cell: TypeAlias = (
    int | float | str | bool | dt.time | dt.date | dt.datetime | dt.timedelta
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: its column names, its rows as texts (`""` is empty), and which columns are text."""

    columns: tuple[str, ...]
    rows: list[list[str]] = field(repr=False)
    text_columns: frozenset[int]


def read_workbook(data: bytes, timestamps: Collection[str] = ()) -> Sheet:
    """Return the first sheet of a workbook; days in the columns `timestamps` begin at midnight.

    Raises:
        Rejected: `xlsx_unreadable`, `xlsx_no_header`, `xlsx_blank_row`, `xlsx_cell_error`, or what
            the names break; `TooLarge` beyond a bound.
    """
    told = _told(data)
    cells = _cells(data)
    _check_numbers(cells, told)
    _empty_covered(cells, told)
    width = _width(cells)
    if not cells or not width:
        detail = "the first sheet of the xlsx file has no header row"
        raise Rejected(detail, field="snapshot", code="xlsx_no_header")
    names = tuple(_text(cell) for cell in _padded(cells[0], width))
    check_names(names, "xlsx")
    body = [_padded(row, width) for row in cells[1:]]
    while body and not any(_text(cell) for cell in body[-1]):
        body.pop()
    _check_rows(body)
    textual = frozenset(
        index for index in range(width) if any(_is_text(row[index]) for row in body)
    )
    moments = _columns_of_moments(names, body, timestamps)
    rows = [
        [_text(cell, is_moment=index in moments) for index, cell in enumerate(row)] for row in body
    ]
    return Sheet(names, rows, textual)


def _columns_of_moments(
    names: Sequence[str], body: Sequence[Sequence[Cell]], timestamps: Collection[str]
) -> frozenset[int]:
    """Return the columns whose days are moments: the reader takes each midnight for a day."""
    return frozenset(
        index
        for index, name in enumerate(names)
        if fold(name) in timestamps or any(isinstance(row[index], dt.datetime) for row in body)
    )


def _told(data: bytes) -> Told:
    """Return what the sheet tells, of a package that does not unpack to far more than it says."""
    with _opened(data) as package:
        size_bytes = sum(each.file_size for each in package.infolist())
        if size_bytes > UNPACKED_BYTES_MAX:
            raise _too_large(f"more than {UNPACKED_BYTES_MAX} bytes unpacked", "xlsx_too_large")
        return read_first_sheet(package)


def _check_numbers(cells: Sequence[Sequence[Cell]], told: Told) -> None:
    """Refuse a number beyond all bounds, and a negative date, which is read as midnight."""
    is_any_unplaced = None in told.negative
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            place = row, column
            if isinstance(value, dt.time) and (is_any_unplaced or place in told.negative):
                raise cell_error(place if place in told.negative else None)
            if isinstance(value, float) and not isfinite(value):
                raise cell_error(place)


def _empty_covered(cells: Sequence[list[Cell]], told: Told) -> None:
    """Empty the cells that lie below one that is merged across them: nobody sees their values."""
    filled = (
        (row, column)
        for row, values in enumerate(cells if told.merged else ())
        for column, value in enumerate(values)
        if value != ""
    )
    for row, column in covered(told.merged, filled):
        cells[row][column] = ""


@contextmanager
def _opened(data: bytes) -> Generator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            yield package
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, zlib.error) as error:
        raise unreadable("xlsx") from error


def _cells(data: bytes) -> Sequence[list[Cell]]:
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheet = workbook.get_sheet_by_index(0)
        # Both are the places of the last row and column, counted from 0.
        if (sheet.total_height + 1) * (sheet.total_width + 1) > CELLS_MAX:
            raise _too_large(f"more than {CELLS_MAX} cells", "xlsx_too_large")
        return sheet.to_python(skip_empty_area=False)
    except (CalamineError, OSError, ValueError, IndexError) as error:
        raise unreadable("xlsx") from error


def _check_rows(body: Sequence[Sequence[Cell]]) -> None:
    if len(body) > ROWS_MAX:
        raise _too_large(f"more than {ROWS_MAX} rows", "xlsx_too_many_rows")
    for number, row in enumerate(body, start=2):
        if not any(_text(cell) for cell in row):
            detail = f"row {number} of the xlsx file is empty; remove it"
            raise Rejected(detail, field="snapshot", code="xlsx_blank_row")


def _width(cells: Sequence[Sequence[Cell]]) -> int:
    """Return how many columns hold anything at all."""
    used = (len(row) - next((n for n, c in enumerate(reversed(row)) if _text(c)), len(row))
            for row in cells)  # fmt: skip
    width = max(used, default=0)
    if width > COLUMNS_MAX:
        raise _too_large(f"more than {COLUMNS_MAX} columns", "xlsx_too_many_columns")
    return width


def _padded(row: Sequence[Cell], width: int) -> list[Cell]:
    return [*row[:width], *[""] * (width - len(row))]


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, str) and cell != ""


def _text(cell: Cell, *, is_moment: bool = False) -> str:
    match cell:
        case bool():
            return "true" if cell else "false"
        case float():
            return _number(cell)
        case dt.datetime() | dt.time():
            return cell.isoformat()
        case dt.date():
            return cell.isoformat() + ("T00:00:00" if is_moment else "")
        case dt.timedelta():
            return _duration(cell)
        case _:
            return str(cell)


def _duration(value: dt.timedelta) -> str:
    """Return hours, minutes and seconds, as a format like `[hh]:mm:ss` shows them.

    A cast to INTERVAL reads it; the hours may be more than a day has.
    """
    minutes, seconds = divmod(abs(value), dt.timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    fraction = f".{seconds.microseconds:06}" if seconds.microseconds else ""
    sign = "-" if value < dt.timedelta() else ""
    return f"{sign}{hours:02}:{minutes:02}:{seconds.seconds:02}{fraction}"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    shortest = Decimal(repr(value))
    return f"{shortest.to_integral_value() if value.is_integer() else shortest:f}"


def _too_large(what: str, code: str) -> TooLarge:
    return TooLarge(f"the xlsx file has {what}", field="snapshot", code=code)
