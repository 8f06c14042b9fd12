"""PDF: the text of each page as PDFium reads it, with the page map and the place of each line.

Line ends become line feeds; a hyphen at which PDFium joins two lines becomes a soft hyphen; a
character without a known meaning becomes U+FFFD. Pages are parted by an empty line, and so are
paragraphs where the lines of a page stand further apart than most of them do. What no reader of a
page sees is left out, see `pdf_sight`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median_low
from typing import Final

from chancery.evidence.layout import POINT_PARTS, Layout, Line, PageLayout
from chancery.evidence.manifest import PAGES_MAX
from chancery.extract.limits import TEXT_CHARACTERS_MAX
from chancery.extract.pdf_lines import SOFT_HYPHEN, Piece, seen_lines, units
from chancery.extract.pdfium import Document, Page, PasswordNeeded, UnreadablePdf, open_pdf
from chancery.extract.refusals import refusal
from chancery.kernel.blank import is_blank

PAGE_SEPARATOR: Final = "\n\n"
PARAGRAPH_END: Final = "\n\n"

_LINE_END: Final = re.compile(r"\r\n|\r|\n|\ufffe")
_HYPHEN: Final = 2
_UNKNOWN: Final = "\ufffd"
_CONTROLS: Final = frozenset(range(0x20)) - {ord("\t")}
_REPLACED: Final = dict.fromkeys((*_CONTROLS, 0xFFFE, 0xFFFF), _UNKNOWN)
_PARAGRAPH_DISTANCE: Final = 1.3


def read_pdf(data: bytes) -> tuple[str, tuple[int, ...], Layout]:
    """Return the text of a PDF, the offsets at which its pages begin, and where its lines are.

    Raises:
        UnreadableDocument: code `encrypted_pdf`, `unreadable_document`, `too_many_pages`,
            `text_too_long`, or `no_text` when no page has a text.
    """
    writer = _Writer()
    try:
        with open_pdf(data) as document:
            _read_pages(document, writer)
    except PasswordNeeded as error:
        raise refusal("encrypted_pdf") from error
    except UnreadablePdf as error:
        raise refusal("unreadable_document") from error
    text = "".join(writer.pieces)
    if is_blank(text):
        raise refusal("no_text")
    return text, tuple(writer.starts), Layout(pages=tuple(writer.pages))


def _read_pages(document: Document, writer: _Writer) -> None:
    if document.page_count > PAGES_MAX:
        raise refusal("too_many_pages")
    for number in range(document.page_count):
        with document.page(number) as page:
            writer.add_page(page)


@dataclass(slots=True)
class _Writer:
    pieces: list[str] = field(default_factory=list[str])
    starts: list[int] = field(default_factory=list[int])
    pages: list[PageLayout] = field(default_factory=list[PageLayout])
    length: int = 0

    def add_page(self, page: Page) -> None:
        """Append a page; one without text begins where the next one does."""
        raw = page.text()
        lines: list[Line] = []
        begins = self.length
        pieces = list(_lines(raw, page.unicode_at)) if raw else []
        sight = page.sight() if raw else b""
        pieces = seen_lines(pieces, sight) if sight else pieces
        if pieces:
            self._put(PAGE_SEPARATOR if self.pieces else "")
            begins = self.length
            for piece in _paragraphs(page, pieces):
                start = self.length
                self._put(piece.text)
                lines.extend(_placed(page, piece, start, self.length))
                self._put(piece.ending)
        if self.length > TEXT_CHARACTERS_MAX:
            raise refusal("text_too_long")
        self.starts.append(begins)
        box, rotation = page.box()
        self.pages.append(PageLayout(box=_parts(box), rotation=rotation, lines=tuple(lines)))

    def _put(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)


def _lines(raw: str, unicode_at: Callable[[int], int]) -> Iterator[Piece]:
    """Yield the lines of a page; U+FFFE is a joining hyphen, or a character without a meaning."""
    position = begin = first = index = 0
    for match in _LINE_END.finditer(raw):
        index += units(raw[position : match.start()])
        position = match.start()
        ending = "\n"
        if match[0] == "\ufffe":
            if unicode_at(index) != _HYPHEN:
                continue
            ending = SOFT_HYPHEN
        text = raw[begin:position].translate(_REPLACED)
        yield Piece(text, ending, ((first, index - first),))
        position = begin = match.end()
        index += len(match[0])
        first = index
    index += units(raw[position:])
    yield Piece(raw[begin:].translate(_REPLACED), "", ((first, index - first),))


def _paragraphs(page: Page, pieces: list[Piece]) -> Iterator[Piece]:
    """Yield the lines; one that stands further above the next than most do ends a paragraph."""
    heights = [page.baseline(piece.runs[0][0]) for piece in pieces]
    distances = [upper - lower for upper, lower in pairwise(heights)]
    usual = median_low([each for each in distances if each > 0] or [0.0])
    for piece, distance in zip(pieces, (*distances, 0.0), strict=True):
        ends = piece.ending == "\n" and 0 < usual * _PARAGRAPH_DISTANCE < distance
        yield replace(piece, ending=PARAGRAPH_END) if ends else piece


def _placed(page: Page, piece: Piece, start: int, end: int) -> Iterator[Line]:
    """Yield the line with the box around its rectangles, when PDFium knows any."""
    is_text = bool(piece.text.strip())
    found = [box for run in piece.runs if is_text for box in page.rectangles(*run)]
    if found:
        left, bottom, right, top = zip(*found, strict=True)
        box = (min(left), min(bottom), max(right), max(top))
        yield (start, end, *_parts(box))


def _parts(box: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
    left, bottom, right, top = (round(each * POINT_PARTS) for each in box)
    return left, bottom, right, top
