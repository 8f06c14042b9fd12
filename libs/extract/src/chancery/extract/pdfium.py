"""The edge to PDFium, whose Python package carries no types: what is used of it, and no more."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from ctypes import c_double
from typing import Any, Final

import pypdfium2

from chancery.extract.pdf_sight import look_at, overlap
from chancery.extract.pdfium_objects import Box, address_of, objects_of

SEEN: Final = 0
UNSEEN: Final = 1
MADE: Final = 2
"""What is said of a character: it is seen, it is not, or PDFium made it up between others."""

_library: Final[Any] = pypdfium2
_PASSWORD: Final = 4
_UNIT_MAX: Final = 0xFFFF
_REPLACEMENT: Final = "\ufffd"
_SURROGATES: Final = range(0xD800, 0xE000)


class PasswordNeeded(Exception):
    """The document opens with a password only."""


class UnreadablePdf(Exception):
    """PDFium cannot open the document, or a page of it."""


class Page:
    """One page and its text; characters are counted as PDFium does, in UTF-16 units."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._text = page.get_textpage()
        self._count = int(self._text.count_chars())

    def text(self) -> str:
        """Return the text of the page, one UTF-16 unit per character of PDFium.

        Where PDFium's own text leaves characters out, each one is asked for instead.
        """
        found = str(self._text.get_text_range())
        if len(found.encode("utf-16-le", "surrogatepass")) == 2 * self._count:
            return _sound(found)
        units = b"".join(self._unit(index) for index in range(self._count))
        return _sound(units.decode("utf-16-le", "surrogatepass"))

    def unicode_at(self, index: int) -> int:
        """Return the code of one character: 2 is a hyphen that joins two lines, 0 has no code."""
        return int(_library.raw.FPDFText_GetUnicode(self._text, index))

    def rectangles(self, first: int, count: int) -> tuple[Box, ...]:
        """Return the rectangles around a range of characters."""
        number = int(self._text.count_rects(first, count))
        return tuple(_box(self._text.get_rect(index)) for index in range(number))

    def baseline(self, index: int) -> float:
        """Return the height at which a character stands on the page."""
        across, up = c_double(), c_double()
        _library.raw.FPDFText_GetCharOrigin(self._text, index, across, up)
        return up.value

    def sight(self) -> bytes:
        """Return of each character whether it is seen; nothing when all of them are."""
        visible, _ = self.box()
        found = look_at(lambda kinds: objects_of(self._page, kinds), visible)
        if not found.unseen and not found.outside:
            return b""
        said = bytearray(self._count)
        for index in range(self._count):
            address = address_of(_library.raw.FPDFText_GetTextObject(self._text, index))
            if not address:
                said[index] = MADE
            elif address in found.unseen or (
                address in found.outside and not overlap(self._place(index), visible)
            ):
                said[index] = UNSEEN
        return bytes(said) if UNSEEN in said else b""

    def box(self) -> tuple[Box, int]:
        """Return the visible box of the page, and its rotation in degrees."""
        return _box(self._page.get_bbox()), int(self._page.get_rotation()) % 360

    def close(self) -> None:
        """Free the page."""
        self._text.close()
        self._page.close()

    def _place(self, index: int) -> Box:
        sides = [c_double() for _ in range(4)]
        left, right, bottom, top = sides
        _library.raw.FPDFText_GetCharBox(self._text, index, left, right, bottom, top)
        return left.value, bottom.value, right.value, top.value

    def _unit(self, index: int) -> bytes:
        code = self.unicode_at(index)
        unit = 0xFFFE if code in {0, 2} or code > _UNIT_MAX else code
        return unit.to_bytes(2, "little")


class Document:
    """An open PDF."""

    def __init__(self, document: Any) -> None:
        self._document = document

    @property
    def page_count(self) -> int:
        """Return how many pages it says it has."""
        return len(self._document)

    @contextmanager
    def page(self, number: int) -> Generator[Page]:
        """Yield a page; the first is 0."""
        try:
            page = Page(self._document[number])
        except _library.PdfiumError as error:
            raise UnreadablePdf from error
        try:
            yield page
        finally:
            page.close()


@contextmanager
def open_pdf(data: bytes) -> Generator[Document]:
    """Yield the document in `data`.

    Raises:
        PasswordNeeded: it is encrypted.
        UnreadablePdf: it is damaged.
    """
    try:
        document = _library.PdfDocument(data)
    except _library.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise PasswordNeeded from error
        raise UnreadablePdf from error
    try:
        yield Document(document)
    finally:
        document.close()


def _box(found: Any) -> Box:
    left, bottom, right, top = (float(each) for each in found)
    return left, bottom, right, top


def _sound(text: str) -> str:
    """Return `text` with half characters replaced, so that it is Unicode."""
    if text.isascii():
        return text
    return "".join(_REPLACEMENT if ord(each) in _SURROGATES else each for each in text)
