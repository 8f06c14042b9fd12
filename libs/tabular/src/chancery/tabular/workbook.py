"""The first sheet of a workbook as a table of texts, read in a process that may be killed.

The first row names the columns. Numbers are written with the fewest digits that read back the same,
without exponents; a column with one text cell is text, so `007` stays what it is. A spreadsheet
keeps numbers as DOUBLE: digits beyond its 15 are lost before the file is written.
"""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from python_calamine import CalamineError, CalamineWorkbook

from chancery.kernel.errors import Rejected, TooLarge
from chancery.tabular.csv import ROWS_MAX
from chancery.tabular.formats import unreadable
from chancery.tabular.names import COLUMNS_MAX, check_names

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


def read_workbook(data: bytes) -> Sheet:
    """Return the first sheet of a workbook.

    Raises:
        Rejected: `xlsx_unreadable`, `xlsx_no_header`, `xlsx_blank_row`, or what the names break;
            `TooLarge` beyond a bound.
    """
    _check_size(data)
    cells = _cells(data)
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
    return Sheet(names, [[_text(cell) for cell in row] for row in body], textual)


def _check_size(data: bytes) -> None:
    """Refuse a package that unpacks to far more than it says."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            size_bytes = sum(each.file_size for each in package.infolist())
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise unreadable("xlsx") from error
    if size_bytes > UNPACKED_BYTES_MAX:
        raise _too_large(f"more than {UNPACKED_BYTES_MAX} bytes unpacked", "xlsx_too_large")


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


def _text(cell: Cell) -> str:
    match cell:
        case bool():
            return "true" if cell else "false"
        case float():
            return _number(cell)
        case dt.datetime() | dt.date() | dt.time():
            return cell.isoformat()
        case _:
            return str(cell)


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if value.is_integer():
        return str(int(value))
    return f"{Decimal(repr(value)):f}"


def _too_large(what: str, code: str) -> TooLarge:
    return TooLarge(f"the xlsx file has {what}", field="snapshot", code=code)
