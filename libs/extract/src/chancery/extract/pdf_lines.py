"""The lines of a page, and what is left of them without the characters that nobody sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from chancery.extract.pdfium import MADE, SEEN, UNSEEN

SOFT_HYPHEN: Final = "\u00ad"

_WIDE: Final = 0xFFFF

Run: TypeAlias = tuple[int, int]
"""The first of some characters and their number, as PDFium counts them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A line as it is kept, and the characters that it is made of: one run, or what is seen."""

    text: str
    ending: str
    runs: tuple[Run, ...]


def units(text: str) -> int:
    """Return how many characters PDFium counts: those beyond U+FFFF are two."""
    return len(text) + sum(ord(each) > _WIDE for each in text) if not text.isascii() else len(text)


def seen_lines(pieces: list[Piece], sight: bytes) -> list[Piece]:
    """Return what is seen of the lines, without those of which nothing is."""
    kept: list[Piece] = []
    for piece in pieces:
        found = _seen(piece, sight)
        if found is not None:
            kept.append(found)
        elif kept and kept[-1].ending == SOFT_HYPHEN:
            kept[-1] = replace(kept[-1], ending="\n")
    if kept:
        kept[-1] = replace(kept[-1], ending="")
    return kept


def _seen(piece: Piece, sight: bytes) -> Piece | None:
    """Return what is seen of a line; words with something unseen between them stand apart."""
    ((first, count),) = piece.runs
    if UNSEEN not in sight[first : first + count]:
        return piece if SEEN in sight[first : first + count] or not piece.text else None
    text = ""
    runs: list[Run] = []
    for character, index, size, has_gap in _kept(piece.text, first, sight):
        if has_gap and text and not text[-1].isspace() and not character.isspace():
            text += " "
        text += character
        if runs and sum(runs[-1]) == index:
            runs[-1] = (runs[-1][0], runs[-1][1] + size)
        else:
            runs.append((index, size))
    return Piece(text.rstrip(" "), piece.ending, tuple(runs)) if text.strip() else None


def _kept(text: str, first: int, sight: bytes) -> Iterator[tuple[str, int, int, bool]]:
    """Yield each character that is seen, its place, its size, and whether unseen ones precede it.

    What PDFium made up goes with what stands before it.
    """
    index, said, has_gap = first, UNSEEN, False
    for character in text:
        size = 2 if ord(character) > _WIDE else 1
        said = said if sight[index] == MADE else sight[index]
        if said == SEEN:
            yield character, index, size, has_gap
        has_gap = said == UNSEEN
        index += size
