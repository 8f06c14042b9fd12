"""The gathered passages as pages of sentences: what can be quoted, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.sentences import Span, sentences_by_block
from chancery.execution.domain.words import Stemmer, beginnings

_HEADING_CHARACTERS_MAX: Final = 60
_MARKED: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)")
_TELLS: Final = re.compile(r"[.!?:;…。！？][\"'”“’»)\]]*\Z|[|\d]")
"""What a heading does not have: a mark at its end, a cell, a number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item or table row; `words` are its stems in order.

    `block` is the number of the paragraph, item, heading or row on its page that it belongs to;
    only a paragraph `is_prose`.
    """

    start: int
    end: int
    block: int
    words: tuple[str, ...]
    beginnings: frozenset[str]
    is_heading: bool
    is_question: bool
    is_prose: bool


@dataclass(frozen=True)
class Page:
    """One part of a source with gathered passages; `ranks` are theirs, 0 the best."""

    key: str
    revision: int
    part_id: str
    text: str
    units: tuple[Unit, ...]
    passages: tuple[tuple[int, Span], ...]
    is_paged: bool = False

    @cached_property
    def words(self) -> frozenset[str]:
        """Return every stem of the page."""
        return frozenset(word for unit in self.units for word in unit.words)

    @cached_property
    def headings(self) -> tuple[frozenset[str], ...]:
        """Return for each unit the stems of the heading that it stands under."""
        found: list[frozenset[str]] = []
        current: frozenset[str] = frozenset()
        for unit in self.units:
            if unit.is_heading:
                current = frozenset(unit.words)
            found.append(current)
        return tuple(found)

    def continues(self, place: int) -> bool:
        """Tell whether a quotation may go on from a unit to the next one, within or beyond a block.

        From one paragraph it may go on to the next, but not where a page may have ended, and not
        over a rule or anything else that stands between them.
        """
        unit, following = self.units[place], self.units[place + 1]
        if unit.block == following.block:
            return True
        if self.text[unit.end : following.start].strip():
            return False
        return unit.is_prose and following.is_prose and not self.is_paged

    def quote(self, unit: Unit) -> str:
        """Return the text of a unit."""
        return self.text[unit.start : unit.end]


@dataclass(frozen=True, slots=True)
class Found:
    """A gathered passage: [start, end) of a text, inside the named part.

    `is_paged` tells that the text comes from pages, whose ends look like those of paragraphs.
    """

    key: str
    revision: int
    part_id: str
    span: Span
    text: str
    is_paged: bool = False


def make_pages(found: Sequence[Found], stemmer: Stemmer) -> tuple[Page, ...]:
    """Return a page for each part that the passages lie in, the one of the best first."""
    grouped: dict[tuple[str, str], list[tuple[int, Found]]] = {}
    for rank, passage in enumerate(found):
        grouped.setdefault((passage.key, passage.part_id), []).append((rank, passage))
    return tuple(_page(group, stemmer) for group in grouped.values())


def _page(group: Sequence[tuple[int, Found]], stemmer: Stemmer) -> Page:
    first = group[0][1]
    start = first.span[0] // PART_CHARACTERS * PART_CHARACTERS
    blocks = sentences_by_block(first.text, start, min(start + PART_CHARACTERS, len(first.text)))
    return Page(
        key=first.key,
        revision=first.revision,
        part_id=first.part_id,
        text=first.text,
        units=tuple(_units(first.text, blocks, stemmer)),
        passages=tuple((rank, passage.span) for rank, passage in group),
        is_paged=first.is_paged,
    )


def _units(text: str, blocks: Sequence[Sequence[Span]], stemmer: Stemmer) -> Iterable[Unit]:
    placed = [
        (block, span, _is_marked(text, *spans[0]))
        for block, spans in enumerate(blocks)
        for span in spans
    ]
    for block, (start, end), is_marked in placed:
        quoted = text[start:end]
        words = stemmer.stems(quoted)
        is_heading = _is_heading(text, start, end)
        yield Unit(
            start=start,
            end=end,
            block=block,
            words=words,
            beginnings=beginnings(words),
            is_heading=is_heading,
            is_question=quoted.endswith(("?", "？")),
            is_prose=not (is_heading or is_marked),
        )


def _is_marked(text: str, start: int, end: int) -> bool:
    """Tell whether a marker, a bar or a tab makes the block that begins here other than prose."""
    line = text[text.rfind("\n", 0, start) + 1 : end]
    return _MARKED.match(line) is not None or "\t" in text[start:end]


def _is_heading(text: str, start: int, end: int) -> bool:
    quoted = text[start:end]
    line = text.rfind("\n", 0, start) + 1
    lead = text[line:start].strip()
    if lead.startswith("#") or (quoted.startswith("=") and quoted.endswith("=")):
        return True
    if lead or end - start > _HEADING_CHARACTERS_MAX or _TELLS.search(quoted):
        return False
    after = text.find("\n", end)
    return not text[end : len(text) if after < 0 else after].strip()
