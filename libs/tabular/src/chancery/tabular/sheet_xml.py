"""What the first sheet of a workbook says of its cells, and the reader of values does not.

The reader takes an error (`#N/A`) and a formula that no program has calculated for an empty cell, a
negative number in a format of dates for midnight, and of a number that is written with references,
comments or CDATA the beginning: a sum over them would be wrong, and silent. Nor does it leave out
what lies below a merged cell. So the sheet is parsed once more, all but its plainest cells.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from chancery.kernel.errors import Rejected
from chancery.kernel.merged import Area, Place
from chancery.tabular.formats import unreadable
from chancery.tabular.package_xml import Attributes, first_sheet, local, parse, xml_parser
from chancery.tabular.sheet_extent import check_extent

if TYPE_CHECKING:
    from xml.parsers import expat

_CELL_NAME = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_PARTS = frozenset(("f", "v", "is"))
_TEXTS = frozenset(("str", "inlineStr", "is"))
"""The kinds of values that are texts, in which references and comments are read as they should."""

_TAGS = re.compile(rb"<[^>]*>")
_FORMULA = rb"""<f(?: [A-Za-z]+="[^"<>&]*")*+(?:/>|>[^<>]*</f>)"""
_PLAIN = re.compile(
    rb"""(?:<c(?: (?:r="[A-Z]{1,3}[0-9]{1,7}"|s="[0-9]{1,9}"|t="[bns]"))*+>"""
    rb"(?:" + _FORMULA + rb")?<v>[0-9.][0-9.Ee+-]*+</v></c>)++"
)
"""Cells of which there is nothing to tell: numbers, not negative ones, with or without a formula.

They neither begin nor end anything around them, a comment for example.
"""


@dataclass(frozen=True, slots=True)
class Told:
    """Where negative numbers stand (None is one without a place), and which cells are merged."""

    negative: frozenset[Place | None]
    merged: frozenset[Area]


def read_first_sheet(package: zipfile.ZipFile) -> Told:
    """Return what the first sheet tells, having looked at each of its cells.

    Raises:
        Rejected: `xlsx_cell_error`, with the cell in its field, for a cell that is an error, a
            formula that was not calculated, or one whose value its reader would take in part;
            `xlsx_unreadable` for a sheet that is not well-formed, or merges what are no cells;
            `xlsx_far_cell` as `check_extent`.
    """
    data = first_sheet(package)
    check_extent(data)
    # A parser takes longer for these cells than their reader does; one stands for each run of them.
    remarkable = _PLAIN.sub(b"<c/>", data)
    parser = xml_parser()
    cells = _Cells(parser, remarkable)
    parse(parser, remarkable)
    return Told(frozenset(cells.negative), frozenset(cells.merged))


def cell_error(place: Place | None) -> Rejected:
    """Return the refusal of a cell, by its name on the sheet; its content is not told."""
    field = "snapshot" if place is None else f"snapshot.{_name_of(*place)}"
    what = "an error, a formula without its value, a negative date, or a value not plainly written"
    return Rejected(f"{field} is {what}", field=field, code="xlsx_cell_error")


class _Cells:
    """Follows the cells of a sheet."""

    def __init__(self, parser: expat.XMLParserType, data: bytes) -> None:
        self.negative: set[Place | None] = set()
        self.merged: set[Area] = set()
        self._parser = parser
        self._data = data
        self._has_data = False
        self._cell: Attributes | None = None
        self._is_formula = self._is_filled = False
        self._within: str | None = None
        self._begin = 0
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def _start(self, tag: str, attributes: Attributes) -> None:
        name = local(tag) if ":" in tag else tag
        if self._cell is None:
            if name == "c":
                self._cell = attributes
                self._is_formula = self._is_filled = False
                if attributes.get("t") == "e":
                    raise self._refused()
            elif name != "row":
                self._around_cells(name, attributes)
        elif self._within is None and not self._is_filled:
            if name in _PARTS:
                self._within, self._begin = name, self._parser.CurrentByteIndex
        elif self._within != "is":
            # The reader of values would take the last part of the cell, or half of this one.
            raise self._refused()

    def _around_cells(self, name: str, attributes: Attributes) -> None:
        if name == "mergeCell":
            self.merged.add(_area_of(attributes.get("ref", "")))
        elif name == "sheetData":
            if self._has_data:
                # The reader of values would end with the first one.
                raise unreadable("xlsx")
            self._has_data = True

    def _end(self, tag: str) -> None:
        if self._cell is None:
            return
        name = local(tag) if ":" in tag else tag
        if name == self._within:
            self._within = None
            if name == "f":
                self._is_formula = True
            else:
                self._value(name, self._data[self._begin : self._parser.CurrentByteIndex])
        elif name == "c" and self._within is None:
            if self._is_formula and not self._is_filled and self._cell.get("t") != "str":
                raise self._refused()
            self._cell = None

    def _value(self, name: str, written: bytes) -> None:
        """Take in a value as it is written, from its tag on.

        Refuse one of which the reader of values takes a part, and note a negative one.
        """
        assert self._cell is not None, "a value is in a cell"
        kind = self._cell.get("t", "n") if name == "v" else name
        if kind in _TEXTS:
            self._is_filled = bool(_TAGS.sub(b"", written).strip())
            is_dropped = kind == "inlineStr" and self._is_filled
            if is_dropped or (kind == "str" and b"<![CDATA[" in written):
                raise self._refused()
            return
        if written.count(b"<") > 1 or b"&" in written:
            raise self._refused()
        number = written.rpartition(b">")[2]
        self._is_filled = bool(number.strip())
        if number.startswith(b"-"):
            self.negative.add(self._place())

    def _place(self) -> Place | None:
        return None if self._cell is None else _place_of(self._cell.get("r", ""))

    def _refused(self) -> Rejected:
        return cell_error(self._place())


def _area_of(reference: str) -> Area:
    first, last = (_place_of(each) for each in (reference.split(":") * 2)[:2])
    if first is None or last is None:
        raise unreadable("xlsx")
    return first, last


def _place_of(name: str) -> Place | None:
    """Return the place of a cell by its name, `A1` is the first."""
    found = _CELL_NAME.fullmatch(name)
    if found is None:
        return None
    column = 0
    for letter in found[1].upper():
        column = column * len(ascii_uppercase) + ascii_uppercase.index(letter) + 1
    return int(found[2]) - 1, column - 1


def _name_of(row: int, column: int) -> str:
    letters, left = "", column + 1
    while left:
        left, digit = divmod(left - 1, len(ascii_uppercase))
        letters = ascii_uppercase[digit] + letters
    return f"{letters}{row + 1}"
