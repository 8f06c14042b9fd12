"""The stable codes of documents that cannot be read, and what each of them tells the publisher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from chancery.kernel.errors import Rejected

TEXTS: Final[Mapping[str, str]] = {
    "empty_document": "the document has no content",
    "no_text": "the document has no text; publish one with a text layer",
    "invalid_utf8": "the document is not UTF-8; save it as UTF-8",
    "nul_character": "the document has a NUL character; take it out",
    "wrong_media_type": "the document is not what its media type says",
    "truncated_file": "the document ends early or is damaged; publish it again",
    "unreadable_document": "the document cannot be read; save it anew and publish that",
    "encrypted_pdf": "the PDF needs a password; publish it without one",
    "encrypted_document": "the document needs a password; publish it without one",
    "zip_bomb": "the document unpacks to more than may be read",
    "forbidden_markup": "the document declares a document type, which its format does not have",
    "too_many_pages": "the document has more pages than may be read; publish it in pieces",
    "too_many_cells": "the workbook has more cells than a document may; publish it as a dataset",
    "ambiguous_sheet": "the workbook hides rows or columns of a sheet, and it is not sure which"
    " cells they are; save it anew with a spreadsheet program and publish that",
    "ambiguous_table": "the style of a table hides some of its rows or columns, and it is not sure"
    " which they are; delete them, or choose another style, and publish that",
    "text_too_long": "the document has more text than may be read; publish it in pieces",
    "timeout": "reading the document took too long",
    "resources": "reading the document took too much memory",
    "extractor_crashed": "the document makes its reader crash",
}
"""From each code to what it says; none of it is text of the document."""


class UnreadableDocument(Rejected):
    """The bytes are no document that can be quoted; the code says why."""

    code = "unreadable_document"


class TakesLong(UnreadableDocument):
    """The document needs more time than others should wait; by itself it may have that."""

    code = "timeout"


def refusal(code: str) -> UnreadableDocument:
    """Return the refusal with this code; an unknown one becomes `unreadable_document`."""
    known = code if code in TEXTS else UnreadableDocument.code
    return UnreadableDocument(TEXTS[known], code=known)
