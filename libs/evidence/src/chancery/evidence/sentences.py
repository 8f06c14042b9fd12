"""Finding whole sentences in raw text, by offsets; the text itself is never touched.

English and German conventions, Markdown blocks and full-width punctuation are known. A unit that a
part's border cuts is left out: a fragment could say the opposite of its sentence.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Final, NamedTuple, TypeAlias

from chancery.evidence.quote import QUOTE_CHARACTERS_MAX, splits_character
from chancery.kernel.blank import is_blank

Span: TypeAlias = "tuple[int, int]"
"""[start, end) in code points of the whole text."""

_CONTEXT: Final = 2 * QUOTE_CHARACTERS_MAX
"""How far beyond the asked range a sentence is followed, so that work stays bounded."""

_SHORT_LINE: Final = 50
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_LEAD: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)][ \t]+|>[ \t]?)")
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]")
_RULE: Final = re.compile(r"[ \t]*(?:```.*|~~~.*|[-=*_]{3,}[ \t]*|(?=[-: \t]*+\|)[-:| \t]*+)")
_STOP: Final = re.compile(
    r"[.!?…。！？](?:(?<![.!?…][.!?…])(?<=[.!?…])[.!?…]*+[\"'”“’»)\]*_]*+(?=\s)"
    r"|(?<=[。！？])[。！？]*[」』）”]*)"
)
"""What may end a sentence. It begins with every mark, so that the engine skips to the next one."""

_TO_WORD: Final = re.compile(r"(?s:.*[\s(\[\"'“„»])")
"""What stands before the last word."""

_INITIAL: Final = re.compile(r"[^\W\d_]\.")
_ORDINAL: Final = re.compile(r"\d{1,2}\.")
_ORDINAL_NOUN: Final = re.compile(
    r"\s+(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Quartal|Halbjahr|Jahrhundert|Tag|Monat|Jahr|Auflage|Kapitel|Abschnitt|Absatz)\b"
)
_ENGLISH: Final = """
e.g. i.e. cf. vs. approx. dept. est. mr. mrs. ms. dr. prof. st. jr. sr. vol. pp. incl. resp.
"""
_GERMAN: Final = """
z.b. d.h. u.a. o.ä. i.d.r. bzw. ca. vgl. hr. fr. str. inkl. zzgl. ggf. evtl. mio. mrd. tel.
abs. bspw. sog. insb. einschl. gem. lt.
"""
_ABBREVIATIONS: Final = frozenset((_ENGLISH + _GERMAN).split())
_LOWER_CASE: Final = """
inc. corp. co. ltd. u.s. u.k. a.m. p.m. etc. no. nos. fig. sec. gov. sen. rep.
"""
_LOWER_ABBREVIATIONS: Final = _ABBREVIATIONS | frozenset(_LOWER_CASE.split())
"""Abbreviations where no capital tells a sentence's end from them."""

_CAPITAL: Final = re.compile("[A-ZÀ-ÖØ-Þ]")
_CAPITALS_MIN: Final = 0.002
"""Below this share of capitals a text is written in lower case, its sentences too."""

_BEFORE_NUMBER: Final = frozenset(("no.", "nos.", "nr.", "art.", "fig.", "sec.", "ch.", "p.", "s."))


class _Block(NamedTuple):
    """A paragraph, list item, heading or table row; a row is not cut into sentences."""

    start: int
    end: int
    is_row: bool = False


def sentences(text: str, start: int, end: int) -> tuple[Span, ...]:
    """Return the quotable sentences that lie wholly inside [start, end), in order.

    Give a part's borders to get its sentences. Headings, list items and table rows are units of
    their own, without their markers. Units above 2,000 characters are left out.
    """
    return tuple(span for block in sentences_by_block(text, start, end) for span in block)


def sentences_by_block(text: str, start: int, end: int) -> tuple[tuple[Span, ...], ...]:
    """Return what `sentences` does, the sentences of each paragraph, item or row together."""
    first = _context_start(text, start)
    last = _context_end(text, end)
    lower = _is_lower_case(text, first, last)
    found = (
        tuple(
            (low, high)
            for low, high in _units(text, block, lower=lower)
            if start <= low and high <= end and _is_quotable(text, low, high)
        )
        for block in _blocks(text, first, last)
    )
    return tuple(block for block in found if block)


class SentenceStarts:
    """Where the sentences inside [start, end) begin, looked for only as far as it is asked.

    Ask from the front to the back: what lies well before a bound is not cut into sentences.
    """

    def __init__(self, text: str, start: int, end: int) -> None:
        """Prepare; the blocks of lines are all that is looked at."""
        first, last = _context_start(text, start), _context_end(text, end)
        lower = _is_lower_case(text, first, last)
        blocks = [block for block in _blocks(text, first, last) if block.end > start]
        self._text, self._start, self._end = text, start, end
        self._begins = [block.start for block in blocks]
        self._units = [_Ahead(_units(text, block, lower=lower)) for block in blocks]

    def last(self, after: int, bound: int) -> int | None:
        """Return the last start above `after` and at most `bound` that `sentences` would tell."""
        for number in range(bisect_right(self._begins, bound) - 1, -1, -1):
            for low, high in reversed(self._units[number].up_to(bound)):
                if low <= after:
                    return None
                if self._is_inside(low, high) and _is_quotable(self._text, low, high):
                    return low
        return None

    def _is_inside(self, low: int, high: int) -> bool:
        return self._start <= low and high <= self._end


class _Ahead:
    """Spans in order, taken from where they come from as far as they are needed."""

    def __init__(self, coming: Iterator[Span]) -> None:
        self._coming = coming
        self._come: list[Span] = []

    def up_to(self, bound: int) -> list[Span]:
        """Return those that begin at `bound` or before."""
        while not self._come or self._come[-1][0] <= bound:
            span = next(self._coming, None)
            if span is None:
                return self._come
            self._come.append(span)
        return self._come[: bisect_right(self._come, (bound, sys.maxsize))]


def _context_start(text: str, start: int) -> int:
    bound = max(0, start - _CONTEXT)
    found = text.rfind("\n\n", bound, start)
    return bound if found < 0 else found + 2


def _context_end(text: str, end: int) -> int:
    bound = min(len(text), end + _CONTEXT)
    found = text.find("\n\n", end, bound)
    return bound if found < 0 else found


def _is_lower_case(text: str, start: int, end: int) -> bool:
    enough = math.ceil(_CAPITALS_MIN * (end - start))
    capitals = islice(_CAPITAL.finditer(text, start, end), enough)
    return sum(1 for _ in capitals) < enough


def _is_quotable(text: str, start: int, end: int) -> bool:
    if end - start > QUOTE_CHARACTERS_MAX or is_blank(text[start:end]):
        return False
    return not (splits_character(text, start) or splits_character(text, end))


def _blocks(text: str, start: int, end: int) -> Iterator[_Block]:
    """Yield runs of lines that belong together, without the marker that leads them."""
    spans = list(_lines(text, start, end))
    lines = [text[low:high] for low, high in spans]
    rows = _rows(lines)
    begun: int | None = None
    stop, before = start, ""
    for number, ((low, high), line) in enumerate(zip(spans, lines, strict=True)):
        # Most lines begin with a letter, which no marker and no rule does.
        is_row, is_plain = number in rows, line[0].isalpha()
        if begun is not None and (is_row or _breaks(before, line, is_plain=is_plain)):
            yield _Block(begun, stop)
            begun = None
        before = line
        if not is_plain and _is_empty(line):
            continue
        if is_row:
            yield _Block(low, high, is_row=True)
            continue
        if begun is None:
            lead = None if is_plain else _LEAD.match(line)
            begun = low + (lead.end() if lead else 0)
        stop = high
        if not is_plain and _HEADING.match(line):
            yield _Block(begun, stop)
            begun = None
    if begun is not None:
        yield _Block(begun, stop)


def _rows(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of table rows: lines with a leading bar, tabbed lines beside others."""
    barred = [number for number, line in enumerate(lines) if "|" in line]
    found = {number for number in barred if lines[number].lstrip(" \t").startswith("|")}
    tabbed = [number for number, line in enumerate(lines) if "\t" in line]
    celled = [number for number in tabbed if "\t" in lines[number].strip()]
    for _, group in groupby(enumerate(celled), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        if len(run) > 1:
            found.update(run)
    return frozenset(found)


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    found = (line.span() for line in _LINE.finditer(text, start, end))
    return (span for span in found if span[0] < span[1])


def _is_empty(line: str) -> bool:
    return not line.strip() or _RULE.fullmatch(line.rstrip("\r\n")) is not None


def _breaks(before: str, line: str, *, is_plain: bool) -> bool:
    """Tell whether `line` begins a new block after the line `before` of the current one.

    `is_plain`: it begins with a letter.
    """
    if not is_plain and (_is_empty(line) or _LEAD.match(line)):
        return True
    opening = line[0] if is_plain else line.lstrip()[:1]
    if not (opening.isupper() or opening.isdigit()):
        return False
    return len(before) < _SHORT_LINE or len(before.strip()) < _SHORT_LINE


def _units(text: str, block: _Block, *, lower: bool) -> Iterator[Span]:
    start, end, is_row = block
    if is_row:
        yield from _bounded(text, start, end)
        return
    position = start
    for stop in _STOP.finditer(text, start, end):
        if _ends_sentence(text, position, stop, lower=lower):
            yield from _bounded(text, position, stop.end())
            position = stop.end()
    yield from _bounded(text, position, end)


def _ends_sentence(text: str, start: int, stop: re.Match[str], *, lower: bool) -> bool:
    mark = stop.group()
    if mark[0] in "。！？":
        return True
    following = text[stop.end() : stop.end() + 40]
    opening = following.lstrip()[:1]
    if opening.islower() and not lower:
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    near = max(start, stop.start() - 40)
    before = _TO_WORD.match(text, near, stop.start())
    word = text[before.end() if before else near : stop.start()].casefold() + "."
    known = _LOWER_ABBREVIATIONS if lower else _ABBREVIATIONS
    if word in known or _INITIAL.fullmatch(word):
        return False
    if word in _BEFORE_NUMBER and opening.isdigit():
        return False
    return not (_ORDINAL.fullmatch(word) and _ORDINAL_NOUN.match(following))


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    low, high = _trim(text, start, end)
    if high - low <= QUOTE_CHARACTERS_MAX:
        if low < high:
            yield low, high
        return
    for line_start, line_end in _lines(text, low, high):
        line = _trim(text, line_start, line_end)
        if line[0] < line[1]:
            yield line


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    low = start + len(piece) - len(piece.lstrip())
    return low, max(low, start + len(piece.rstrip()))
