"""The cells of the first sheet that hold no value, which the reader of values tells nothing of.

It takes an error (`#N/A`) and a formula that no program has calculated for an empty cell, and a
negative number in a format of dates for midnight: a sum over them would be wrong, and silent. They
are looked for in the bytes of the sheet, since parsing its cells once more takes minutes.
"""

from __future__ import annotations

import html
import re
import zipfile
from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import TypeAlias

from chancery.kernel.errors import Rejected

Place: TypeAlias = tuple[int, int]
"""The row and the column of a cell, from 0."""

_MAIN = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
"""What the reader of values goes by, whatever else the package says."""

_SHEETS = "xl/worksheets/"
_TAG = rb"<(?:\w+:)?%s\b[^>]*>"
_SHEET = re.compile(_TAG % b"sheet")
_RELATION = re.compile(_TAG % b"Relationship")
_REFERENCE = re.compile(rb"""\s\w+:id\s*=\s*["']([^"']*)["']""")
_ID = re.compile(rb"""\sId\s*=\s*["']([^"']*)["']""")
_TARGET = re.compile(rb"""\sTarget\s*=\s*["']([^"']*)["']""")
_CELL = rb"(<(?:\w+:)?c\b[^>]*>)"
_FORMULA = rb"<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f\s*>)"
_VALUE = rb"<(?:\w+:)?v\b[^>]*>\s*"
_ERROR = re.compile(rb"""(<(?:\w+:)?c\b[^>]*\st\s*=\s*["']e["'][^>]*>)""")
_NOT_CALCULATED = re.compile(_CELL + rb"\s*" + _FORMULA + rb"\s*(?!" + _VALUE + rb"[^<\s])")
_NEGATIVE = re.compile(_CELL + rb"\s*(?:" + _FORMULA + rb"\s*)?" + _VALUE + b"-")
_ERROR_SIGNS, _FORMULA_SIGNS = (b'"e"', b"'e'"), (b"<f", b":f")
_TEXT = re.compile(rb"""\st\s*=\s*["']str["']""")
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{1,3})([0-9]{1,7})["']""")


def check_stored(package: zipfile.ZipFile) -> None:
    """Refuse a workbook whose first sheet has an error, or a formula that was not calculated.

    Raises:
        Rejected: `xlsx_cell_error`, with the cell in its field.
    """
    for sheet in _first_sheet(package):
        # Most sheets have neither, which two looks for a few bytes tell in no time.
        failed = _ERROR.search(sheet) if any(each in sheet for each in _ERROR_SIGNS) else None
        if failed is not None:
            raise cell_error(_place_of(failed[1]))
        formulas = any(each in sheet for each in _FORMULA_SIGNS)
        for missing in _NOT_CALCULATED.finditer(sheet) if formulas else ():
            if not _TEXT.search(missing[1]):
                raise cell_error(_place_of(missing[1]))


def negative_cells(package: zipfile.ZipFile) -> frozenset[Place | None]:
    """Return where the negative numbers of the first sheet stand; None is one without a place."""
    return frozenset(
        _place_of(found[1])
        for sheet in _first_sheet(package)
        for found in _NEGATIVE.finditer(sheet)
    )


def cell_error(place: Place | None) -> Rejected:
    """Return the refusal of a cell, by its name on the sheet; its content is not told."""
    field = "snapshot" if place is None else f"snapshot.{_name_of(*place)}"
    detail = f"{field} is an error, a formula without its value, or a negative date"
    return Rejected(detail, field=field, code="xlsx_cell_error")


def _name_of(row: int, column: int) -> str:
    letters, left = "", column + 1
    while left:
        left, digit = divmod(left - 1, len(ascii_uppercase))
        letters = ascii_uppercase[digit] + letters
    return f"{letters}{row + 1}"


def _first_sheet(package: zipfile.ZipFile) -> Iterator[bytes]:
    """Yield the bytes of the first sheet; where it is not sure which part it is, of all sheets."""
    parts = {each.lower(): each for each in package.namelist()}
    part = _part_of_first_sheet(package, parts)
    names = [part] if part else [each for each in parts if each.startswith(_SHEETS)]
    for name in names:
        yield package.read(parts[name])


def _part_of_first_sheet(package: zipfile.ZipFile, parts: Mapping[str, str]) -> str | None:
    if _MAIN not in parts or _RELATIONS not in parts:
        return None
    sheet = _SHEET.search(package.read(parts[_MAIN]))
    reference = None if sheet is None else _REFERENCE.search(sheet.group())
    for relation in _RELATION.finditer(package.read(parts[_RELATIONS])):
        named, target = _ID.search(relation.group()), _TARGET.search(relation.group())
        if reference and named and target and named[1] == reference[1]:
            path = html.unescape(target[1].decode(errors="replace")).lower()
            part = path.lstrip("/") if path.startswith(("/", "xl/")) else f"xl/{path}"
            return part if part in parts else None
    return None


def _place_of(tag: bytes) -> Place | None:
    """Return the place that the opening tag of a cell tells."""
    found = _PLACE.search(tag)
    if found is None:
        return None
    column = 0
    for letter in found[1].decode().upper():
        column = column * len(ascii_uppercase) + ascii_uppercase.index(letter) + 1
    return int(found[2]) - 1, column - 1
