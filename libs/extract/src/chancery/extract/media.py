"""The media types of documents, and whether bytes begin as their media type says.

This module imports no parser: the edge checks uploads with it before anything is stored.
"""

from __future__ import annotations

from typing import Final

from chancery.extract.encoding import REMEDY
from chancery.extract.refusals import refusal
from chancery.kernel.errors import Rejected

PLAIN: Final = "text/plain"
MARKDOWN: Final = "text/markdown"
HTML: Final = "text/html"
PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PNG: Final = "image/png"
JPEG: Final = "image/jpeg"

RAW_TYPES: Final = frozenset({PLAIN, MARKDOWN})
"""Read as they are, in the reader's own process: no parser is involved."""

PARSED_TYPES: Final = frozenset({HTML, PDF, DOCX, XLSX})
"""Read by a parser, in a process of its own."""

IMAGE_TYPES: Final = frozenset({PNG, JPEG})
"""Kept with their checksum only: they have no text, so they are never evidence."""

DOCUMENT_TYPES: Final = RAW_TYPES | PARSED_TYPES | IMAGE_TYPES
"""Every media type that a source's revision may have."""

_WITHOUT_CHARSET: Final = (PARSED_TYPES - {HTML}) | IMAGE_TYPES
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})

_PDF_HEADER_WITHIN = 1024
_PDF_END_WITHIN = 4096
_BLANK = b"\x00\t\n\x0c\r "
"""What PDF takes for blank (ISO 32000-1, section 7.2.2); some tools fill a file up with it."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_BEGINNINGS: Final = {
    DOCX: b"PK\x03\x04",
    XLSX: b"PK\x03\x04",
    PNG: b"\x89PNG\r\n\x1a\n",
    JPEG: b"\xff\xd8\xff",
}


class UnsupportedMediaType(Rejected):
    """No extractor reads this media type."""

    code = "unsupported_media_type"


def bare(media_type: str) -> str:
    """Return a media type in lower case, without its parameters."""
    return media_type.partition(";")[0].strip().lower()


def check_media_type(media_type: str) -> str:
    """Return the bare media type of a document.

    Raises:
        UnsupportedMediaType: when documents cannot have it.
        Rejected: code `unsupported_charset`, see `check_charset`; what is no text has no charset.
    """
    found = bare(media_type)
    if found not in _WITHOUT_CHARSET:
        check_charset(media_type)
    if found not in DOCUMENT_TYPES:
        message = f"media_type must be one of {', '.join(sorted(DOCUMENT_TYPES))}"
        raise UnsupportedMediaType(message, field="media_type")
    return found


def check_charset(media_type: str) -> None:
    """Refuse a text that is said to be in anything but UTF-8, of which US-ASCII is a part.

    Raises:
        Rejected: code `unsupported_charset`.
    """
    for parameter in media_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \t\"'").lower() not in _CHARSETS:
            message = f"the text must be UTF-8; {REMEDY}, and say charset=utf-8 or nothing"
            raise Rejected(message, field="media_type", code="unsupported_charset")


def check_signature(media_type: str, data: bytes) -> None:
    """Check that `data` begins, and a PDF also ends, as its media type says; texts always do.

    Raises:
        UnreadableDocument: code `empty_document`, `wrong_media_type`, `encrypted_document` or
            `truncated_file`.
    """
    if not data:
        raise refusal("empty_document")
    kind = bare(media_type)
    if kind == PDF:
        _check_pdf(data)
    beginning = _BEGINNINGS.get(kind, b"")
    if data.startswith(beginning):
        return
    if kind in {DOCX, XLSX} and data.startswith(_OLE) and _ENCRYPTED_PACKAGE in data:
        raise refusal("encrypted_document")
    raise refusal("wrong_media_type")


def _check_pdf(data: bytes) -> None:
    if b"%PDF-" not in data[:_PDF_HEADER_WITHIN]:
        raise refusal("wrong_media_type")
    if b"%%EOF" not in data.rstrip(_BLANK)[-_PDF_END_WITHIN:]:
        raise refusal("truncated_file")
