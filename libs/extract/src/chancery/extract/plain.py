"""Markdown and plain text: the raw bytes are the canonical text, so that offsets hold for ever."""

from __future__ import annotations

from chancery.kernel.errors import Rejected

PLAIN_TEXT = "text/1"
"""The identity of this extractor."""


class UnreadableText(Rejected):
    """The bytes are no text that can be quoted; the code says why."""

    code = "unreadable_text"


def read_plain_text(data: bytes) -> str:
    """Return `data` decoded as strict UTF-8; newlines, marks and forms stay as they are.

    Raises:
        UnreadableText: code `empty_document`, `invalid_utf8` or `nul_character`.
    """
    if not data:
        message = "the document has no content"
        raise UnreadableText(message, code="empty_document")
    try:
        text = data.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        message = f"the document is not UTF-8: byte {error.start} does not fit"
        raise UnreadableText(message, code="invalid_utf8") from error
    if "\x00" in text:
        message = "the document has a NUL character"
        raise UnreadableText(message, code="nul_character")
    return text
