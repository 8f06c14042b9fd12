"""The bytes that a submission brings: where they are, and whether they may be published."""

from __future__ import annotations

from typing import Final

from chancery.events.intake import (
    DocumentSubmitted,
    DraftSubmitted,
    FileSubmitted,
    SnapshotSubmitted,
)
from chancery.evidence.knowledge import body_size
from chancery.extract.encoding import misencoding
from chancery.extract.media import HTML, RAW_TYPES, check_charset, check_media_type, check_signature
from chancery.ingestion.domain.submissions import WithContent
from chancery.ingestion.errors import InvalidSubmission
from chancery.kernel.blank import is_blank
from chancery.kernel.errors import Rejected
from chancery.tabular.formats import check_file, check_header, format_of

MARKDOWN: Final = "text/markdown"
_TEXT_TYPES: Final = RAW_TYPES | {HTML}


def inline_content(submitted: WithContent) -> bytes | None:
    """Return the inline content, None when it was uploaded before.

    Raises:
        InvalidSubmission: when there is neither, or both, or text where only a file can be.
        Rejected: for a media type that is not published.
    """
    media_type = media_type_of(submitted)
    if (submitted.text is None) == (submitted.content_sha256 is None):
        message = "give either text or content_sha256"
        raise InvalidSubmission(message, field="data.text", code="invalid_submission")
    if submitted.text is None:
        return None
    if not _is_text(submitted, media_type):
        message = f"{media_type} is no text: upload it with POST /v1/blobs and give content_sha256"
        raise InvalidSubmission(message, field="data.text", code="invalid_submission")
    return submitted.text.encode()


def content_field(submitted: WithContent) -> str:
    """Return the field that brings the content."""
    return "data.content_sha256" if submitted.text is None else "data.text"


def media_type_of(submitted: WithContent) -> str:
    """Return the media type under which the content is published.

    Raises:
        Rejected: for one that is not.
    """
    match submitted:
        case DocumentSubmitted() | FileSubmitted():
            return check_media_type(submitted.media_type)
        case SnapshotSubmitted():
            if format_of(submitted.media_type) == "csv":
                check_charset(submitted.media_type)
                check_header(submitted.media_type)
            return submitted.media_type.partition(";")[0].strip().lower()
        case DraftSubmitted():
            return MARKDOWN


def check_content(submitted: WithContent, content: bytes) -> None:
    """Refuse what could never be quoted or queried.

    Raises:
        InvalidSubmission: naming the field that brings the content, or `data.media_type`.
    """
    field = content_field(submitted)
    try:
        _check(submitted, content, field)
    except InvalidSubmission:
        raise
    except Rejected as error:
        place = "data.media_type" if error.field == "media_type" else field
        raise InvalidSubmission(error.detail, field=place, code=error.code) from error


def _check(submitted: WithContent, content: bytes, field: str) -> None:
    match submitted:
        case SnapshotSubmitted():
            check_file(submitted.media_type, content)
        case DraftSubmitted():
            check_text(content, field)
            body_size(content)
        case DocumentSubmitted() | FileSubmitted():
            media_type = media_type_of(submitted)
            if media_type in _TEXT_TYPES:
                check_text(content, field)
            else:
                check_signature(media_type, content)


def check_text(content: bytes, field: str) -> None:
    """Refuse a text that could never be quoted.

    Raises:
        InvalidSubmission: with code `empty_content`, `nul_byte` or `invalid_utf8`.
    """
    fault = misencoding(content) if content.strip() else None
    if fault is not None:
        raise InvalidSubmission(f"the content {fault.reason}", field=field, code=fault.code)
    if not content.strip() or is_blank(content.decode()):
        message = "the content is empty; submit at least one character that a reader sees"
        raise InvalidSubmission(message, field=field, code="empty_content")


def _is_text(submitted: WithContent, media_type: str) -> bool:
    match submitted:
        case DocumentSubmitted() | FileSubmitted():
            return media_type in _TEXT_TYPES
        case SnapshotSubmitted():
            return format_of(media_type) == "csv"
        case DraftSubmitted():
            return True
