"""Which bytes may be published, checked before anything is stored."""

from __future__ import annotations

from chancery.extract.encoding import misencoding
from chancery.extract.media import (
    DOCUMENT_TYPES,
    HTML,
    RAW_TYPES,
    check_charset,
    check_signature,
)
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected
from chancery.tabular.formats import CSV_TYPES, check_file, check_header, format_of

TEXT_TYPES = RAW_TYPES | {HTML}
"""The media types of documents that are texts, so that every byte of them is checked here."""

_WITH_CHARSET = TEXT_TYPES | CSV_TYPES


class UnsupportedMediaType(Rejected):
    """The media type is none that can be indexed."""

    code = "unsupported_media_type"


def essence(content_type: str) -> str:
    """Return the media type of a Content-Type header, without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def uploaded_type(media_type: str) -> str:
    """Return the media type of an upload as `essence` does.

    Raises:
        Rejected: code `unsupported_charset` when it says that a text is not UTF-8, as which it is
            read; `csv_header_absent` when it says that a CSV file names no columns.
    """
    found = essence(media_type)
    if found in _WITH_CHARSET:
        check_charset(media_type)
    if found in CSV_TYPES:
        check_header(media_type)
    return found


def check_media_type(kind: str, media_type: str) -> None:
    """Refuse what no dataset, or no document, may be, before any of its bytes are looked at.

    Raises:
        Rejected: code `unsupported_media_type`.
    """
    if kind == "dataset":
        format_of(media_type)
    elif media_type not in DOCUMENT_TYPES:
        message = f"the media type must be one of {', '.join(sorted(DOCUMENT_TYPES))}"
        raise UnsupportedMediaType(message, field="media_type")


def check_document(media_type: str, data: bytes) -> None:
    """Refuse a document that could never be quoted.

    Raises:
        Rejected: code `unsupported_media_type`, `empty_content`, `invalid_utf8` or `nul_byte`, or
            `wrong_media_type`, `truncated_file` or `encrypted_document` when the bytes say so.
    """
    check_media_type("source", media_type)
    if media_type in TEXT_TYPES:
        _check_text(data)
    elif data:
        check_signature(media_type, data)
    else:
        raise _empty()


def check_table(media_type: str, data: bytes) -> None:
    """Refuse a table that could never be queried.

    Raises:
        Rejected: code `unsupported_media_type`, the code of the broken CSV rule, or
            `parquet_unreadable` or `xlsx_unreadable` when the bytes are something else.
    """
    check_file(media_type, data)


def _check_text(data: bytes) -> None:
    if not data.strip():
        raise _empty()
    fault = misencoding(data)
    if fault is not None:
        raise Rejected(f"the content {fault.reason}", field="content", code=fault.code)
    if is_blank(data.decode()):
        raise _empty()


def _empty() -> Rejected:
    message = "the content is empty; publish at least one character that a reader sees"
    return Rejected(message, field="content", code="empty_content")
