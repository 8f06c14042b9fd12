"""The cells of a sheet that nobody sees, by where they are.

Their row or column is hidden, filtered out or of no size, or they lie below another one that is
merged across them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from chancery.extract.sheet_places import COLUMNS_MAX, names, place, place_of
from chancery.kernel.merged import Area, covered

_OFF: Final = frozenset(("0", "false", "off"))
_NUMBER: Final = re.compile(r"[0-9]{1,7}")
_POINTS_MIN: Final = 0.75
"""The height of a pixel: a row that is lower shows nothing."""

_CHARACTERS_MIN: Final = 1 / 7
"""The width of a pixel: a column that is narrower shows nothing."""

_DEFAULTS, _COLUMN, _ROW, _MERGED = map(names, ("sheetFormatPr", "col", "row", "mergeCell"))


class Hiding:
    """What a sheet says of the sizes of its rows and columns."""

    def __init__(self) -> None:
        """Begin with a sheet that hides nothing."""
        self.is_known = True
        """Whether all that is hidden has a place."""
        self._merged: list[Area] = []
        self._rows: set[int] = set()
        self._columns = bytearray(COLUMNS_MAX)
        self._sized = bytearray(COLUMNS_MAX)
        self._has_low_rows = self._has_narrow_columns = False
        self._hides_elsewhere = False

    def hides_anything(self) -> bool:
        """Tell whether some row or column is hidden, known or not."""
        is_default = self._has_low_rows or self._has_narrow_columns
        return bool(self._rows) or is_default or self._hides_elsewhere or any(self._columns)

    def hides(self, where: int) -> bool:
        """Tell whether the cell at a place is in a hidden row or column."""
        row, column = divmod(where, COLUMNS_MAX)
        is_narrow = self._has_narrow_columns and not self._sized[column]
        return row in self._rows or bool(self._columns[column]) or is_narrow

    def covered(self, filled: Mapping[int, object]) -> frozenset[int]:
        """Return the places of the filled cells that lie below one that is merged across them.

        They are given row by row.
        """
        below = covered(self._merged, (divmod(each, COLUMNS_MAX) for each in filled))
        return frozenset(place(row, column) for row, column in below)

    def look(self, tag: str, attributes: Mapping[str, str], row: int = 0) -> None:
        """Take in an element; `row` is where the sheet has come to, if that is a row."""
        if tag in _ROW:
            if self._is_hidden_row(attributes):
                self._rows.add(row)
        elif tag in _COLUMN:
            self._column(attributes)
        elif tag in _DEFAULTS:
            self._has_narrow_columns = _is_less(attributes.get("defaultColWidth"), _CHARACTERS_MIN)
            is_custom = _is_on(attributes.get("customHeight"))
            self._has_low_rows = is_custom and _is_less(
                attributes.get("defaultRowHeight"), _POINTS_MIN
            )
        elif tag in _MERGED:
            self._merge(attributes.get("ref", ""))
        elif _is_on(attributes.get("hidden")):
            # the element of another namespace, which a reader of values may take for a row
            self._hides_elsewhere = True

    def _merge(self, reference: str) -> None:
        first, last = (place_of(each) for each in (reference.split(":") * 2)[:2])
        if first is None or last is None:
            self.is_known = False
        else:
            self._merged.append((divmod(first, COLUMNS_MAX), divmod(last, COLUMNS_MAX)))

    def _is_hidden_row(self, attributes: Mapping[str, str]) -> bool:
        height = attributes.get("ht")
        is_low = self._has_low_rows if height is None else _is_less(height, _POINTS_MIN)
        return is_low or _is_on(attributes.get("hidden"))

    def _column(self, attributes: Mapping[str, str]) -> None:
        width = attributes.get("width")
        is_narrow = _is_less(width, _CHARACTERS_MIN)
        is_hidden = is_narrow or _is_on(attributes.get("hidden"))
        if not is_hidden and width is None:
            return
        first, last = (_number(attributes.get(each, "")) for each in ("min", "max"))
        if first is None or last is None or not 1 <= first <= last:
            self.is_known = self.is_known and not is_hidden
            return
        columns = slice(first - 1, min(last, COLUMNS_MAX))
        marks = b"\x01" * len(range(COLUMNS_MAX)[columns])
        (self._columns if is_hidden else self._sized)[columns] = marks


def _is_on(switch: str | None) -> bool:
    """Tell whether an attribute is set; what is neither on nor off is."""
    return switch is not None and switch.strip() not in _OFF


def _is_less(size: str | None, least: float) -> bool:
    """Tell whether a size is less than `least`; what is no number is, one that is missing not."""
    if size is None:
        return False
    try:
        return not float(size) >= least
    except ValueError:
        return True


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
