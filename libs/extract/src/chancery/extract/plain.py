"""Markdown and plain text: the raw bytes are the canonical text, so that offsets hold for ever."""

from __future__ import annotations

from typing import Final

from chancery.evidence.manifest import RAW_EXTRACTOR
from chancery.extract.encoding import REMEDY
from chancery.extract.limits import TEXT_CHARACTERS_MAX
from chancery.extract.refusals import UnreadableDocument, refusal

PLAIN_TEXT: Final = RAW_EXTRACTOR
"""The identity of this extractor."""


def read_plain_text(data: bytes) -> str:
    """Return `data` decoded as strict UTF-8; newlines, marks and forms stay as they are.

    Raises:
        UnreadableDocument: code `empty_document`, `invalid_utf8`, `nul_character` or
            `text_too_long`.
    """
    if not data:
        raise refusal("empty_document")
    try:
        text = data.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        message = f"the document is not UTF-8: byte {error.start} does not fit; {REMEDY}"
        raise UnreadableDocument(message, code="invalid_utf8") from error
    if "\x00" in text:
        raise refusal("nul_character")
    if len(text) > TEXT_CHARACTERS_MAX:
        raise refusal("text_too_long")
    return text
