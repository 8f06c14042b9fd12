"""Why bytes are no text that can be published, and how to make them one."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

REMEDY: Final = "save it as UTF-8, for instance with iconv -f CHARSET -t UTF-8"
_MARKS_OF_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Misencoding:
    """What is wrong with a text: a stable code, and the sentence that its subject begins."""

    code: str
    reason: str


def misencoding(data: bytes) -> Misencoding | None:
    """Return why `data` is no text in UTF-8 without NUL, None when it is one.

    What a page declares of its own charset is not asked: quotations have offsets in one encoding.
    """
    has_nul = b"\x00" in data
    if data.startswith(_MARKS_OF_UTF16):
        code = "nul_byte" if has_nul else "invalid_utf8"
        return Misencoding(code, "is UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)")
    if has_nul:
        reason = "has a NUL byte; if it is UTF-16, save it as UTF-8, else take the byte out"
        return Misencoding("nul_byte", reason)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8: byte {error.start} cannot be decoded; {REMEDY}"
        return Misencoding("invalid_utf8", reason)
    return None
