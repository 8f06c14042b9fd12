"""What an extraction is, and which extractor reads a media type under which identity.

An extractor is a pure function of bytes: the same bytes give the same text for ever under the same
identity; another result needs another identity, which is why those of parsers name the version of
the library they use. Parsers run behind `chancery.extract.pool`, in a process that can be killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Final

from chancery.extract.media import (
    DOCX,
    HTML,
    PARSED_TYPES,
    PDF,
    RAW_TYPES,
    XLSX,
    UnsupportedMediaType,
    check_media_type,
)
from chancery.extract.plain import PLAIN_TEXT, read_plain_text
from chancery.extract.refusals import refusal
from chancery.kernel.blank import is_blank

EXTRACTOR: Final = PLAIN_TEXT
"""The identity of the extractor for Markdown and plain text."""

_PARSERS: Final[Mapping[str, tuple[str, str | None]]] = {
    PDF: ("pdf/2", "pypdfium2"),
    DOCX: ("docx/4", None),
    HTML: ("html/2", "selectolax"),
    XLSX: ("xlsx/4", "python-calamine"),
}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The canonical text of a document and the identity of what extracted it.

    `pages` are the offsets at which the pages of a PDF begin; `layout` is where lines or cells
    stand, as the bytes of an `evidence.layout.Layout`.
    """

    text: str = field(repr=False)
    extractor: str
    pages: tuple[int, ...] = ()
    layout: bytes | None = field(default=None, repr=False)


def extractor_of(media_type: str) -> str:
    """Return the identity under which a media type is extracted, with or without parameters.

    Raises:
        Rejected: code `unsupported_media_type` or `unsupported_charset`.
    """
    kind = check_media_type(media_type)
    if kind in RAW_TYPES:
        return EXTRACTOR
    if kind in PARSED_TYPES:
        return _identity(kind)
    message = "an image has no text to extract"
    raise UnsupportedMediaType(message, field="media_type")


def extract(media_type: str, data: bytes) -> Extraction:
    """Return the canonical text of Markdown or plain text; everything else needs the pool.

    Raises:
        Rejected: with a stable code; see `check_media_type` and `read_plain_text`, and `no_text`
            when a reader would see nothing.
    """
    identity = extractor_of(media_type)
    if identity != EXTRACTOR:
        message = f"media_type must be one of {', '.join(sorted(RAW_TYPES))}"
        raise UnsupportedMediaType(message, field="media_type")
    text = read_plain_text(data)
    if is_blank(text):
        raise refusal("no_text")
    return Extraction(text, identity)


@cache
def _identity(kind: str) -> str:
    name, library = _PARSERS[kind]
    return name if library is None else f"{name}+{library}-{version(library)}"
