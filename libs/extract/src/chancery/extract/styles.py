"""The styles of a workbook: which number format code each of them has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chancery.extract.format_codes import CODE_CHARACTERS_MAX
from chancery.extract.number_formats import BUILT_IN

if TYPE_CHECKING:
    from xml.parsers import expat

STYLES_MAX: Final = 65_536
"""The styles that a workbook may have; of later ones and their formats nothing is known."""

SHEET_NAMESPACES: Final = frozenset(
    (
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        "http://purl.oclc.org/ooxml/spreadsheetml/main",
    )
)
GENERAL: Final = BUILT_IN[0]
_FIRST_OWN: Final = 164
_REGIONAL: Final = frozenset((*range(5, 9), *range(37, 45)))
"""Formats of numbers and money that a workbook declares as they were where it was written."""

_ID: Final = re.compile(r"[0-9]{1,7}")
_OFF: Final = frozenset(("0", "false", "off"))
_DEPTH: Final = 2


class Styles:
    """Follows the styles of a workbook: the formats of cells, and the codes of formats."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        """Listen to `parser`."""
        self._formats: list[int | None] = []
        self._declared: dict[int, str | None] = {}
        self._path: list[str] = []
        self._parser = parser
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def codes(self) -> Mapping[str, str | None]:
        """Return the code of each style, by the number that cells name it with.

        None is a code that is not rendered. Without styles the first one is `General`.
        """
        found = {str(style): self._code(each) for style, each in enumerate(self._formats)}
        return found or {"0": GENERAL}

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        if len(self._path) == _DEPTH and namespace in SHEET_NAMESPACES:
            match self._path[-1], name:
                case "cellXfs", "xf":
                    self._add(attributes)
                case "numFmts", "numFmt":
                    self._declare(attributes)
                case _:
                    pass
        self._path.append(name)

    def _end(self, _tag: str) -> None:
        self._path.pop()

    def _add(self, attributes: dict[str, str]) -> None:
        if len(self._formats) == STYLES_MAX:
            self._parser.StartElementHandler = self._parser.EndElementHandler = None
            return
        number = _id(attributes.get("numFmtId", "0"))
        is_applied = attributes.get("applyNumberFormat", "1") not in _OFF
        self._formats.append(number if is_applied or number == 0 else None)

    def _declare(self, attributes: dict[str, str]) -> None:
        number, code = _id(attributes.get("numFmtId", "")), attributes.get("formatCode", "")
        if number is None or len(self._declared) == STYLES_MAX:
            return
        known = self._declared.get(number, code)
        is_one = known == code and len(code) <= CODE_CHARACTERS_MAX
        self._declared[number] = code if is_one else None

    def _code(self, number: int | None) -> str | None:
        if number is None:
            return None
        built_in = BUILT_IN.get(number)
        if number >= _FIRST_OWN or number in _REGIONAL:
            return self._declared.get(number, built_in)
        return built_in if self._declared.get(number, built_in) == built_in else None


def _id(text: str) -> int | None:
    return int(text) if _ID.fullmatch(text) else None
