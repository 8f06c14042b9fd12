"""Office packages: ZIP files whose size is known before a parser unpacks them."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Mapping
from xml.parsers import expat

from chancery.extract.limits import (
    INFLATED_ALWAYS_ALLOWED_BYTES,
    INFLATED_BYTES_MAX,
    INFLATION_RATIO_MAX,
)
from chancery.extract.refusals import refusal

_CHUNK_BYTES = 1024 * 1024
_ENCRYPTED = 0x1
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

_ROOT_RELATIONS = "_rels/.rels"


class Package:
    """An Office package whose entries unpack, and within bounds."""

    def __init__(self, data: bytes) -> None:
        """Unpack `data` once, keeping nothing.

        Raises:
            UnreadableDocument: code `truncated_file`, `encrypted_document` or `zip_bomb`.
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

    def read(self, name: str) -> bytes:
        """Return the bytes of the part `name`, which exists."""
        return self._zip.read(name)

    def related(self, part: str) -> Mapping[str, str]:
        """Return the parts that `part` refers to, by the kind of the relation."""
        folder, name = posixpath.split(part)
        return self.relations(posixpath.join(folder, "_rels", name + ".rels"))

    def relations(self, name: str) -> Mapping[str, str]:
        """Return the first target of each kind of relation in the part `name`."""
        if not self.has(name):
            return {}
        base = posixpath.dirname(posixpath.dirname(name))
        found: dict[str, str] = {}

        def start(tag: str, attributes: dict[str, str]) -> None:
            if tag.rpartition(" ")[2] == "Relationship":
                kind = attributes.get("Type", "").rpartition("/")[2]
                target = posixpath.join("/", base, attributes.get("Target", ""))
                found.setdefault(kind, posixpath.normpath(target).lstrip("/"))

        parser = xml_parser()
        parser.StartElementHandler = start
        parse(parser, self.read(name))
        return found

    def _check(self, packed_bytes: int) -> None:
        allowed = min(
            INFLATED_BYTES_MAX,
            max(INFLATED_ALWAYS_ALLOWED_BYTES, packed_bytes * INFLATION_RATIO_MAX),
        )
        entries = self._zip.infolist()
        if sum(entry.file_size for entry in entries) > allowed:
            raise refusal("zip_bomb")
        for entry in entries:
            if entry.flag_bits & _ENCRYPTED:
                raise refusal("encrypted_document")
            with self._zip.open(entry) as stream:
                while stream.read(_CHUNK_BYTES):
                    pass


def xml_parser() -> expat.XMLParserType:
    """Return a parser that knows no document types, so no entity can be declared.

    Names come as `namespace name`.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise refusal("forbidden_markup")

    parser.StartDoctypeDeclHandler = refuse
    return parser


def parse(parser: expat.XMLParserType, data: bytes) -> None:
    """Parse all of `data`.

    Raises:
        UnreadableDocument: when it is not well-formed.
    """
    try:
        parser.Parse(data)
        parser.Parse(b"", True)  # noqa: FBT003 - expat takes positions only
    except expat.ExpatError as error:
        raise refusal("unreadable_document") from error
