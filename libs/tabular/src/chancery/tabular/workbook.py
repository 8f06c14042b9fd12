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
from typing import TYPE_CHECKING, TypeAlias

from python_calamine import CalamineError, CalamineWorkbook

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.csv import ROWS_MAX
from chancery.tabular.formats import unreadable
from chancery.tabular.names import COLUMNS_MAX, check_names
from chancery.tabular.schema import fold
from chancery.tabular.sheet_bytes import cell_error, check_stored, negative_cells

if TYPE_CHECKING:
    from collections.abc import Generator

UNPACKED_BYTES_MAX = 256 * 1024 * 1024
CELLS_MAX = 20_000_000

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
    _check_package(data)
    cells = _cells(data)
    _check_times(data, cells)
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


def _check_package(data: bytes) -> None:
    """Refuse a package that unpacks to far more than it says, or has cells without a value.

    Of two parts of one name one reader takes the first, another the last.
    """
    with _opened(data) as package:
        if len({each.lower() for each in package.namelist()}) < len(package.namelist()):
            raise unreadable("xlsx")
        size_bytes = sum(each.file_size for each in package.infolist())
        if size_bytes > UNPACKED_BYTES_MAX:
            raise _too_large(f"more than {UNPACKED_BYTES_MAX} bytes unpacked", "xlsx_too_large")
        check_stored(package)


def _check_times(data: bytes, cells: Sequence[Sequence[Cell]]) -> None:
    """Refuse a negative date, which the reader takes for midnight."""
    times = {
        (row, column)
        for row, values in enumerate(cells)
        for column, value in enumerate(values)
        if isinstance(value, dt.time)
    }
    if not times:
        return
    with _opened(data) as package:
        negative = negative_cells(package)
    for place in sorted(each for each in negative if each is not None):
        if place in times:
            raise cell_error(place)
    if None in negative:
        raise cell_error(None)


@contextmanager
def _opened(data: bytes) -> Generator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            yield package
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, zlib.error) as error:
        raise unreadable("xlsx") from error


def _cells(data: bytes) -> Sequence[Sequence[Cell]]:
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
        case _:
            return str(cell)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    shortest = Decimal(repr(value))
    return f"{shortest.to_integral_value() if value.is_integer() else shortest:f}"


def _too_large(what: str, code: str) -> TooLarge:
    return TooLarge(f"the xlsx file has {what}", field="snapshot", code=code)
