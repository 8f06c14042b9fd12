"""How far the cells of a sheet reach: the reader of values makes room for each place up to there.

One cell at `XFD1048576` asks for seventeen thousand million places. The process dies of that, and
nobody would be told why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase

from chancery.kernel.errors import TooLarge
from chancery.tabular.names import COLUMNS_MAX

CELLS_MAX = 20_000_000
"""The places of a sheet, filled or not."""

_FEW = 4
"""Where not every so manyth place has a cell, the sheet is no large table but has a far cell."""

_FILLED = re.compile(
    rb"""<(?:\w+:)?c\b[^>]*?\sr\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["'][^>]*(?<!/)>\s*(?!</)"""
)
"""A cell with anything in it, as the reader takes it; one that has a style alone is none to it."""


@dataclass(slots=True)
class _Extent:
    """The last row and the last column that have a cell, counted from 1, and how many cells."""

    cells: int = 0
    row: int = 0
    column: int = 0
    in_last_row: str = ""
    in_last_column: str = ""


def check_extent(sheet: bytes) -> None:
    """Refuse a sheet one cell of which stands so far from the others that no table can hold it.

    Raises:
        TooLarge: `xlsx_far_cell`, with the cell in its field.
    """
    extent = _extent_of(sheet)
    places = extent.row * extent.column
    if places <= CELLS_MAX or extent.cells * _FEW >= places:
        return
    name = extent.in_last_column if extent.column > COLUMNS_MAX else extent.in_last_row
    detail = f"the cell {name} stands too far from the other cells; delete it, or move it to them"
    raise TooLarge(detail, field=f"snapshot.{name}", code="xlsx_far_cell")


def _extent_of(sheet: bytes) -> _Extent:
    extent, columns = _Extent(), dict[bytes, int]()
    for found in _FILLED.finditer(sheet):
        letters, row = found[1], int(found[2])
        column = columns.get(letters) or columns.setdefault(letters, _number_of(letters.decode()))
        extent.cells += 1
        if row > extent.row:
            extent.row, extent.in_last_row = row, f"{letters.decode().upper()}{row}"
        if column > extent.column:
            extent.column, extent.in_last_column = column, f"{letters.decode().upper()}{row}"
    return extent


def _number_of(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * len(ascii_uppercase) + ascii_uppercase.index(letter) + 1
    return number
