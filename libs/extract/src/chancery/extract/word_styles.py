"""Which styles of a Word document hide the text that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xml.parsers import expat

WORD: Final = frozenset(
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
)
_OFF: Final = frozenset(("0", "false", "off"))
_IN_STYLE: Final = ["styles", "style"]
_IN_PART_OF_TABLE: Final = [*_IN_STYLE, "tblStylePr", "rPr", "vanish"]
_IN_DEFAULTS: Final = ["styles", "docDefaults", "rPrDefault", "rPr"]


def is_on(value: str | None) -> bool:
    """Tell whether a property of runs is switched on by its `val`, which may be left out."""
    return value not in _OFF


@dataclass(slots=True)
class _Style:
    based_on: str | None = None
    hides: bool | None = None
    hides_parts: bool = False
    """Whether it hides some rows or columns of the tables that have it."""


@dataclass(slots=True)
class WordStyles:
    """What the styles of a document say of hiding; a document without any hides nothing by them."""

    _styles: dict[str, _Style] = field(default_factory=dict[str, _Style])
    _defaults: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[str | None, bool] = field(default_factory=dict[str | None, bool])
    _hides_all: bool = False
    _path: list[str] = field(default_factory=list[str])
    _open: _Style = field(default_factory=_Style)

    def listen(self, parser: expat.XMLParserType) -> None:
        """Take in the part of the styles."""
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def hides(self, **styles: str | None) -> bool:
        """Tell whether text is hidden by its styles of the kinds `table`, `paragraph`, `character`.

        What two of them hide is seen: hiding is a toggle. A kind of which no style is known has
        the default one of the document. Source: ISO/IEC 29500-1, section 17.7.3.
        """
        if self._hides_all:
            return True
        found = [
            style if style in self._styles else self._defaults.get(kind)
            for kind, style in styles.items()
        ]
        return sum(map(self._hidden_by, found)) % 2 == 1

    def hides_parts(self, table: str | None) -> bool:
        """Tell whether a style hides some rows or columns of a table, of which is not known."""
        name = table if table in self._styles else self._defaults.get("table")
        return any(each.hides_parts for each in self._line_of(name))

    def _hidden_by(self, name: str | None) -> bool:
        if name not in self._known:
            self._known[name] = self._found_by(name)
        return self._known[name]

    def _found_by(self, name: str | None) -> bool:
        return next((each.hides for each in self._line_of(name) if each.hides is not None), False)

    def _line_of(self, name: str | None) -> Iterator[_Style]:
        """Yield a style, the one that it is based on, and so on."""
        passed: set[str] = set()
        while name is not None and name in self._styles and name not in passed:
            passed.add(name)
            style = self._styles[name]
            yield style
            name = style.based_on

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        self._path.append(name if namespace in WORD else "")

        def value(attribute: str) -> str | None:
            return attributes.get(f"{namespace} {attribute}")

        if self._path == _IN_STYLE:
            self._begin(value("styleId"), value("type"), value("default"))
        elif self._path == [*_IN_STYLE, "basedOn"]:
            self._open.based_on = value("val")
        elif self._path == [*_IN_STYLE, "rPr", "vanish"]:
            self._open.hides = is_on(value("val"))
        elif self._path == _IN_PART_OF_TABLE:
            self._open.hides_parts = self._open.hides_parts or is_on(value("val"))
        elif self._path == [*_IN_DEFAULTS, "vanish"]:
            self._hides_all = is_on(value("val"))

    def _begin(self, name: str | None, kind: str | None, default: str | None) -> None:
        self._open = _Style()
        if name is None:
            return
        self._styles[name] = self._open
        if default is not None and is_on(default):
            self._defaults[kind or "paragraph"] = name

    def _end(self, _tag: str) -> None:
        self._path.pop()
