"""What a file is by its first bytes, told where that is not what its name says."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Final

from chancery.extract.media import DOCX, HTML, PDF, XLSX
from chancery.kernel.errors import Rejected

WRONG_MEDIA_TYPE: Final = "wrong_media_type"
LOOKED_AT_BYTES: Final = 64 * 1024

_NAMES: Final = {
    PDF: "a PDF",
    DOCX: "a Word document (.docx)",
    XLSX: "an Excel workbook (.xlsx)",
    HTML: "an HTML page",
}
_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"{\\rtf", "an RTF document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an older Office (.doc, .xls)"),
    (b"\x1f\x8b", "a gzip archive"),
)
_IN_ARCHIVE: Final = ((b"word/", DOCX), (b"xl/", XLSX))


def misnamed(path: Path, media_type: str, data: bytes) -> Rejected:
    """Return the refusal of a file whose bytes are not what its name says."""
    expected = _NAMES.get(media_type, media_type)
    found = recognised(data)
    looks = "" if found is None else f"; its content looks like {found}"
    message = f"the name ends in {path.suffix}, so it should be {expected}, and it is none{looks}"
    return Rejected(message, field="content", code=WRONG_MEDIA_TYPE)


def recognised(data: bytes) -> str | None:
    """Return what the bytes look like, None when that is not known."""
    head = data[:LOOKED_AT_BYTES]
    if b"%PDF-" in head[:1024]:
        return _NAMES[PDF]
    for beginning, name in _BEGINNINGS:
        if head.startswith(beginning):
            return name
    if head.startswith(b"PK\x03\x04"):
        kinds = (_NAMES[kind] for part, kind in _IN_ARCHIVE if part in data)
        return next(kinds, "a ZIP archive")
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        return _NAMES[HTML]
    return "plain text" if _is_text(head) else None


def _is_text(head: bytes) -> bool:
    try:
        # The last character may be cut in two.
        text = codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < LOOKED_AT_BYTES)
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and all(each.isprintable() or each.isspace() for each in text)
