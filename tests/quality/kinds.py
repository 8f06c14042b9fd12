"""The documents of the data written as files of every type that is read."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Final

from chancery.extract.media import DOCX, HTML, MARKDOWN, PDF, PLAIN, XLSX
from tests.unit.extract.files import docx_file, lines, paragraph, pdf_file, xlsx_file

LINE_CHARACTERS: Final = 96
PAGE_LINES: Final = 54
CELL_BORDER: Final = "|"

_LATIN_FONT: Final = (
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of document: `write` makes a file of a text, `shown` is what a reader sees of it."""

    name: str
    media_type: str
    write: Callable[[str], bytes]
    shown: Callable[[str], str] = str


def squeezed(text: str) -> str:
    """Return `text` without white space, which layouts change."""
    return "".join(text.split())


def _html(text: str) -> bytes:
    body = "".join(f"<p>{escape(line)}</p>" for line in _filled(text))
    return f"<!doctype html><html><body>{body}</body></html>".encode()


def _docx(text: str) -> bytes:
    return docx_file("".join(paragraph(escape(line, quote=False)) for line in _filled(text)))


def _xlsx(text: str) -> bytes:
    """Return a workbook with a row for each line, and a cell for what stands between bars."""
    return xlsx_file({"Text": "".join(_row(line) for line in _filled(text))})


def _row(line: str) -> str:
    cells = (part.strip() for part in line.split(CELL_BORDER))
    inner = "".join(
        f'<c t="inlineStr"><is><t xml:space="preserve">{escape(cell, quote=False)}</t></is></c>'
        for cell in cells
        if cell
    )
    return f"<row>{inner}</row>"


def _pdf(text: str) -> bytes:
    written = [
        piece
        for line in _latin(text).splitlines()
        for piece in (textwrap.wrap(line, LINE_CHARACTERS, break_on_hyphens=False) or [""])
    ]
    starts = range(0, len(written), PAGE_LINES)
    return pdf_file(
        *(lines(*written[start : start + PAGE_LINES]) for start in starts), font=_LATIN_FONT
    )


def _latin(text: str) -> str:
    """Return `text` with a question mark for what the font of a plain PDF does not have."""
    return text.encode("latin-1", "replace").decode("latin-1")


def _no_bars(text: str) -> str:
    return text.replace(CELL_BORDER, "")


def _filled(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


KINDS: Final = (
    Kind("Markdown", MARKDOWN, str.encode),
    Kind("plain text", PLAIN, str.encode),
    Kind("HTML", HTML, _html),
    Kind("DOCX", DOCX, _docx),
    Kind("PDF", PDF, _pdf, _latin),
    Kind("XLSX", XLSX, _xlsx, _no_bars),
)
