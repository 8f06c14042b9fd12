"""The gathered passages as pages of sentences: what can be quoted, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.sentences import Span, sentences
from chancery.execution.domain.words import Stemmer, beginnings

_HEADING_CHARACTERS_MAX: Final = 60
_TELLS: Final = re.compile(r"[.!?:;…。！？][\"'”“’»)\]]*\Z|[|\d]")
"""What a heading does not have: a mark at its end, a cell, a number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item or table row; `words` are its stems in order."""

    start: int
    end: int
    words: tuple[str, ...]
    beginnings: frozenset[str]
    is_heading: bool
    is_question: bool


@dataclass(frozen=True)
class Page:
    """One part of a source with gathered passages; `ranks` are theirs, 0 the best."""

    key: str
    revision: int
    part_id: str
    text: str
    units: tuple[Unit, ...]
    passages: tuple[tuple[int, Span], ...]

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

    def quote(self, unit: Unit) -> str:
        """Return the text of a unit."""
        return self.text[unit.start : unit.end]


@dataclass(frozen=True, slots=True)
class Found:
    """A gathered passage: [start, end) of a text, inside the named part."""

    key: str
    revision: int
    part_id: str
    span: Span
    text: str


def make_pages(found: Sequence[Found], stemmer: Stemmer) -> tuple[Page, ...]:
    """Return a page for each part that the passages lie in, the one of the best first."""
    grouped: dict[tuple[str, str], list[tuple[int, Found]]] = {}
    for rank, passage in enumerate(found):
        grouped.setdefault((passage.key, passage.part_id), []).append((rank, passage))
    return tuple(_page(group, stemmer) for group in grouped.values())


def _page(group: Sequence[tuple[int, Found]], stemmer: Stemmer) -> Page:
    first = group[0][1]
    start = first.span[0] // PART_CHARACTERS * PART_CHARACTERS
    spans = sentences(first.text, start, min(start + PART_CHARACTERS, len(first.text)))
    return Page(
        key=first.key,
        revision=first.revision,
        part_id=first.part_id,
        text=first.text,
        units=tuple(_units(first.text, spans, stemmer)),
        passages=tuple((rank, passage.span) for rank, passage in group),
    )


def _units(text: str, spans: Iterable[Span], stemmer: Stemmer) -> Iterable[Unit]:
    for start, end in spans:
        quoted = text[start:end]
        words = stemmer.stems(quoted)
        yield Unit(
            start=start,
            end=end,
            words=words,
            beginnings=beginnings(words),
            is_heading=_is_heading(text, start, end),
            is_question=quoted.endswith(("?", "？")),
        )


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
