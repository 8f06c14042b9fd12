"""Which number format each cell of a workbook has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from chancery.extract.archive import Package, xml_parser
from chancery.extract.number_formats import PLAIN, NumberFormat, Value, number_format
from chancery.extract.sheet_cells import SheetCells
from chancery.extract.sheet_places import names
from chancery.extract.styles import GENERAL, Styles

_MAIN_PART: Final = "xl/workbook.xml"
"""What the reader of values takes for it, whatever the package says."""

_SHEET: Final = names("sheet")
_IDS: Final = (
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships id",
    "http://purl.oclc.org/ooxml/officeDocument/relationships id",
)


@dataclass(frozen=True, slots=True)
class SheetFormats:
    """The formats of the cells of a sheet; those that have none of their own have `default`.

    Nobody sees the cells at the places `unseen`.
    """

    default: NumberFormat = PLAIN
    cells: Mapping[int, NumberFormat] = field(default_factory=dict[int, NumberFormat])
    unseen: frozenset[int] = frozenset()

    def shown(self, where: int, value: Value) -> str | None:
        """Return what is seen of the value at a place: `""` is nothing, None its plain form."""
        return "" if where in self.unseen else self.cells.get(where, self.default).shown(value)


class WorkbookFormats:
    """The number formats of one workbook; a code is read when a cell needs it."""

    def __init__(self, package: Package, main: str) -> None:
        """Read the styles and which part each sheet is.

        Raises:
            UnreadableDocument: when a part is not well-formed or declares a document type.
        """
        self._package = package
        self._read: dict[str, NumberFormat] = {}
        is_sure = main == _MAIN_PART
        self._parts: Mapping[str, str] = _parts_of_sheets(package, main) if is_sure else {}
        self._codes: Mapping[str, str | None] = _codes(package, main) if is_sure else {}

    def of_sheet(self, name: str, filled: Mapping[int, object]) -> SheetFormats:
        """Return the formats of the cells of a sheet; `filled` are their values by their places.

        Raises:
            UnreadableDocument: when the sheet is not well-formed or declares a document type, or by
                `ambiguous_sheet`, see `SheetCells`.
        """
        part = self._parts.get(name)
        if part is None or not self._package.has(part):
            return SheetFormats(unseen=self._unseen_in_some_part(filled))
        cells = self._read_part(part, filled)
        if set(self._codes.values()) == {GENERAL}:
            return SheetFormats(self._format("0"), unseen=cells.unseen())
        return SheetFormats(cells=cells.formats(), unseen=cells.unseen())

    def _unseen_in_some_part(self, filled: Mapping[int, object]) -> frozenset[int]:
        """Return what is not seen of a sheet of which it is not sure which part it is."""
        found = (
            self._read_part(each, filled, is_placed=False).unseen()
            for each in self._package.names()
            if each.lower().endswith(".xml")
        )
        return frozenset[int]().union(*found)

    def _read_part(
        self, part: str, filled: Mapping[int, object], *, is_placed: bool = True
    ) -> SheetCells:
        parser = xml_parser()
        cells = SheetCells(parser, filled, self._format)
        if not is_placed:
            cells.give_up()
        self._package.parse(part, parser)
        return cells

    def _format(self, style: str) -> NumberFormat:
        code = self._codes.get(style)
        if code is None:
            return PLAIN
        if code not in self._read:
            self._read[code] = number_format(code)
        return self._read[code]


def _codes(package: Package, main: str) -> Mapping[str, str | None]:
    parser = xml_parser()
    styles = Styles(parser)
    name = package.related(main).get("styles")
    if name is not None and package.has(name):
        package.parse(name, parser)
    return styles.codes()


def _parts_of_sheets(package: Package, main: str) -> Mapping[str, str]:
    """Return the parts of the sheets by their names, without names that are there twice."""
    targets = package.referred(main)
    found: dict[str, list[str]] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag in _SHEET:
            reference = next((attributes[each] for each in _IDS if each in attributes), "")
            found.setdefault(attributes.get("name", ""), []).append(targets.get(reference, ""))

    parser = xml_parser()
    parser.StartElementHandler = start
    package.parse(main, parser)
    return {name: parts[0] for name, parts in found.items() if len(parts) == 1}
