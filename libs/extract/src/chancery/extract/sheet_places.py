"""The places of cells in a sheet, and what a parser calls the elements of one."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from chancery.extract.styles import SHEET_NAMESPACES

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


def row_number(text: str) -> int | None:
    """Return the number of a row, `1` is 0, or None when there is none."""
    if not _ROW_NUMBER.fullmatch(text) or not 0 < int(text) <= ROWS_MAX:
        return None
    return int(text) - 1


def place_of(reference: str) -> int | None:
    """Return the place of a cell by its name, `A1` is 0, or None when there is none."""
    letters = reference.rstrip("0123456789")
    row, column = row_number(reference[len(letters) :]), column_number(letters)
    return None if row is None or column is None else place(row, column)


@cache
def column_number(letters: str) -> int | None:
    """Return the number of a column, `A` is 0, `AB` is 27, or None when there is none."""
    if not _COLUMN.fullmatch(letters):
        return None
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number - 1 if number <= COLUMNS_MAX else None
