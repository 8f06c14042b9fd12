"""The XML of a workbook, and which of its parts is the first sheet.

Names are taken without their prefixes, as the reader of values takes them.
"""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Callable, Generator, Mapping
from typing import TypeAlias
from xml.parsers import expat

from chancery.tabular.formats import unreadable

Attributes: TypeAlias = dict[str, str]

_MAIN = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
"""What the reader of values goes by, whatever else the package says."""

_TEXTS = "sharedStrings"
_ENCODINGS = frozenset(("UTF-8", "UTF8", "US-ASCII", "ASCII"))
"""What the reader of values reads, whatever a part declares."""


_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00")
"""How a part begins that is UTF-16 or UTF-32, with its mark or without."""


def local(tag: str) -> str:
    """Return a name without its prefix."""
    return tag.rpartition(":")[2]


def xml_parser() -> expat.XMLParserType:
    """Return a parser of UTF-8 that knows no document types, so no entity can be declared."""
    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise unreadable("xlsx")

    def check(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.upper() not in _ENCODINGS:
            refuse()

    parser.StartDoctypeDeclHandler = refuse
    parser.XmlDeclHandler = check
    return parser


def parse(parser: expat.XMLParserType, data: bytes) -> None:
    """Parse a whole part.

    Raises:
        Rejected: `xlsx_unreadable` when it is not well-formed UTF-8.
    """
    if data.startswith(_OTHER_MARKS):
        raise unreadable("xlsx")
    with _well_formed():
        parser.Parse(data, True)  # noqa: FBT003 - expat takes positions only


def parts_of(package: zipfile.ZipFile) -> Mapping[str, str]:
    """Return what the parts are called in the package, by the names that readers know them by.

    Raises:
        Rejected: `xlsx_unreadable` when two have one name: of these one reader takes the first,
            another the last.
    """
    entries = package.namelist()
    parts = {each.replace("\\", "/").removeprefix("/").lower(): each for each in entries}
    if len(parts) < len(entries):
        raise unreadable("xlsx")
    return parts


def first_sheet(package: zipfile.ZipFile) -> bytes:
    """Return the part of the first sheet, having looked at the texts that its cells refer to.

    Raises:
        Rejected: `xlsx_unreadable` when it is not sure which part that is, or one of the parts that
            lead there is not well-formed UTF-8.
    """
    parts = parts_of(package)
    if _MAIN not in parts or _RELATIONS not in parts:
        raise unreadable("xlsx")
    sheet = _first_reference(package.read(parts[_MAIN]))
    relations = _relations(package.read(parts[_RELATIONS]))
    for kind, target in relations.values():
        if kind == _TEXTS and target in parts:
            parse(xml_parser(), package.read(parts[target]))
    _, target = relations.get(sheet, ("", ""))
    if target not in parts:
        raise unreadable("xlsx")
    return package.read(parts[target])


def _first_reference(data: bytes) -> str | None:
    """Return by which relation the workbook names its first sheet."""
    found: list[str | None] = []

    def take(tag: str, attributes: Attributes) -> None:
        if local(tag) == "sheet":
            found.append(next((v for k, v in attributes.items() if local(k) == "id"), None))

    _each_element(data, take)
    return found[0] if found else None


def _relations(data: bytes) -> Mapping[str | None, tuple[str, str]]:
    """Return the kind and the part of each relation, by its id."""
    found: dict[str | None, tuple[str, str]] = {}

    def take(tag: str, attributes: Attributes) -> None:
        if local(tag) == "Relationship" and "Id" in attributes:
            kind = attributes.get("Type", "").rpartition("/")[2]
            target = attributes.get("Target", "").lower()
            is_whole = target.startswith(("/", "xl/"))
            part = target.removeprefix("/") if is_whole else f"xl/{target}"
            found[attributes["Id"]] = kind, part

    _each_element(data, take)
    return found


def _each_element(data: bytes, take: Callable[[str, Attributes], None]) -> None:
    parser = xml_parser()
    parser.StartElementHandler = take
    parse(parser, data)


@contextlib.contextmanager
def _well_formed() -> Generator[None]:
    try:
        yield
    except expat.ExpatError as error:
        raise unreadable("xlsx") from error
