"""Office packages: ZIP files whose size is known before a parser unpacks them."""

from __future__ import annotations

import contextlib
import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Generator, Mapping
from xml.parsers import expat

from chancery.extract.limits import (
    INFLATED_ALWAYS_ALLOWED_BYTES,
    INFLATED_BYTES_MAX,
    INFLATION_RATIO_MAX,
)
from chancery.extract.refusals import refusal

_CHUNK_BYTES = 1024 * 1024
_ENCRYPTED = 0x1
_PACKED_AS = frozenset((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What the ZIP reader raises for damaged files; it checks little by itself."""

_ENCODINGS = frozenset(("UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "US-ASCII"))
"""What expat reads by itself."""

_ROOT_RELATIONS = "_rels/.rels"


class Package:
    """An Office package whose entries unpack, and within bounds."""

    def __init__(self, data: bytes) -> None:
        """Unpack `data` once, keeping nothing.

        Raises:
            UnreadableDocument: code `truncated_file`, `encrypted_document` or `zip_bomb`, or
                `unreadable_document` for what no office package is: two parts of one name, or one
                packed otherwise than by deflation.
        """
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._check(len(data))
        except _DAMAGE as error:
            raise refusal("truncated_file") from error

    def main_part(self) -> str:
        """Return the name of the part that the package is about.

        Raises:
            UnreadableDocument: code `wrong_media_type` for a ZIP file of another kind.
        """
        targets = self.relations(_ROOT_RELATIONS)
        main = next((t for kind, t in targets.items() if kind == "officeDocument"), None)
        if main is None or not self.has(main):
            raise refusal("wrong_media_type")
        return main

    def has(self, name: str) -> bool:
        """Tell whether there is a part `name`."""
        return name in self._zip.NameToInfo

    def names(self) -> tuple[str, ...]:
        """Return the names of all parts."""
        return tuple(self._zip.NameToInfo)

    def parse(self, name: str, parser: expat.XMLParserType) -> None:
        """Parse the part `name`, which exists, holding little of it at a time.

        Raises:
            UnreadableDocument: when it is not well-formed.
        """
        with self._zip.open(name) as stream, _well_formed():
            while chunk := stream.read(_CHUNK_BYTES):
                parser.Parse(chunk)
            parser.Parse(b"", True)  # noqa: FBT003 - expat takes positions only

    def related(self, part: str) -> Mapping[str, str]:
        """Return the parts that `part` refers to, by the kind of the relation."""
        return self.relations(_relations_of(part))

    def referred(self, part: str) -> Mapping[str, str]:
        """Return the parts that `part` refers to, by the id of the relation."""
        relations = self._read_relations(_relations_of(part))
        return {reference: target for reference, _, target in relations}

    def relations(self, name: str) -> Mapping[str, str]:
        """Return the first target of each kind of relation in the part `name`."""
        found: dict[str, str] = {}
        for _, kind, target in self._read_relations(name):
            found.setdefault(kind, target)
        return found

    def _read_relations(self, name: str) -> list[tuple[str, str, str]]:
        """Return the id, the kind and the target of each relation in the part `name`."""
        if not self.has(name):
            return []
        base = posixpath.dirname(posixpath.dirname(name))
        found: list[tuple[str, str, str]] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag.rpartition(" ")[2] == "Relationship":
                kind = attributes.get("Type", "").rpartition("/")[2]
                target = posixpath.join("/", base, attributes.get("Target", ""))
                part = posixpath.normpath(target).lstrip("/")
                found.append((attributes.get("Id", ""), kind, part))

        parser = xml_parser()
        parser.StartElementHandler = start
        self.parse(name, parser)
        return found

    def _check(self, packed_bytes: int) -> None:
        allowed = min(
            INFLATED_BYTES_MAX,
            max(INFLATED_ALWAYS_ALLOWED_BYTES, packed_bytes * INFLATION_RATIO_MAX),
        )
        entries = self._zip.infolist()
        if sum(entry.file_size for entry in entries) > allowed:
            raise refusal("zip_bomb")
        # Of two parts one reader takes the first, another the last, and some look at no case.
        names = {entry.filename.replace("\\", "/").lstrip("/").lower() for entry in entries}
        is_usual = all(entry.compress_type in _PACKED_AS for entry in entries)
        if len(names) < len(entries) or not is_usual:
            raise refusal("unreadable_document")
        for entry in entries:
            if entry.flag_bits & _ENCRYPTED:
                raise refusal("encrypted_document")
            with self._zip.open(entry) as stream:
                while stream.read(_CHUNK_BYTES):
                    pass


def xml_parser() -> expat.XMLParserType:
    """Return a parser that knows no document types, so no entity can be declared.

    Names come as `namespace name`. What is written in an encoding that needs a decoder from outside
    the parser is refused, so that the same bytes always give the same text.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise refusal("forbidden_markup")

    def check(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.upper() not in _ENCODINGS:
            raise refusal("unreadable_document")

    parser.StartDoctypeDeclHandler = refuse
    parser.XmlDeclHandler = check
    return parser


@contextlib.contextmanager
def _well_formed() -> Generator[None]:
    try:
        yield
    except expat.ExpatError as error:
        raise refusal("unreadable_document") from error


def _relations_of(part: str) -> str:
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", name + ".rels")
