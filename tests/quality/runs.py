"""Every question asked as a run asks it: gathered, selected, and each quotation resolved."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from chancery.evidence.parts import PART_CHARACTERS
from chancery.evidence.quote import resolve_quote
from chancery.evidence.sentences import Span
from chancery.execution.adapters import ExtractiveSelector, material_of
from chancery.execution.domain.quoting import Limits
from chancery.execution.domain.selection import highest_confidence
from chancery.execution.domain.words import stemmer
from chancery.execution.ports import Passage, Question, SelectedQuote
from tests.quality.data import Asked, DataSet
from tests.quality.measures import characters, common, holds, recall
from tests.quality.shelf import Book, Shelf

GATHERED = 10
"""How many gathered passages count for recall."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question; quotations are counted without the threshold of refusal.

    `withheld` is the confidence with which the same question meets all other documents.
    """

    document: str
    gathered_recall: float
    recall: float
    precision: float
    quoted: int
    in_first: bool
    in_any: bool
    confidence: float
    withheld: float
    select_ms: float


def run_all(shelf: Shelf, data: DataSet, limits: Limits, *, withhold: bool) -> list[Outcome]:
    """Return the outcome of every question, in order.

    Raises:
        UnsupportedSelection, AlteredText, AssertionError: a quotation is not its source's text.
    """
    return [_run(shelf, asked, limits, withhold=withhold) for asked in data.questions]


def _run(shelf: Shelf, asked: Asked, limits: Limits, *, withhold: bool) -> Outcome:
    everything = shelf.books.keys()
    book = shelf.books[asked.document]
    question, passages = shelf.ask(asked.text, everything), shelf.gather(asked.text, everything)
    began = time.perf_counter()
    quotes = select_quotes(question, passages, limits)
    select_ms = (time.perf_counter() - began) * 1000
    for quote in quotes:
        _check(shelf, quote)
    shown = [quote.span for quote in quotes if quote.key == book.pin.ref.key]
    quoted = sum(quote.span[1] - quote.span[0] for quote in quotes)
    inside = [quote.key == book.pin.ref.key and holds(quote.span, asked.needed) for quote in quotes]
    return Outcome(
        document=asked.document,
        gathered_recall=recall(asked.needed, _parts(passages[:GATHERED], book)),
        recall=recall(asked.needed, shown),
        precision=common(asked.needed, shown) / quoted if quoted else 0.0,
        quoted=quoted,
        in_first=inside[:1] == [True],
        in_any=any(inside),
        confidence=_confidence(question, passages),
        withheld=_withheld(shelf, asked, everything - {asked.document}) if withhold else 0.0,
        select_ms=select_ms,
    )


def select_quotes(
    question: Question, passages: Sequence[Passage], limits: Limits
) -> list[SelectedQuote]:
    """Return what is quoted when nothing is refused for its confidence."""
    selector = ExtractiveSelector(limits, confidence_min=0.0)
    selected = asyncio.run(selector.select(question, passages, ()))
    quotes = [one for one in selected if isinstance(one, SelectedQuote)]
    assert len(quotes) == len(selected), "there are no measures to select"
    return quotes[: limits.quotes_max]


def _check(shelf: Shelf, quote: SelectedQuote) -> None:
    """Resolve a quotation as release does; it must be its source's text, character by character."""
    book = next(one for one in shelf.books.values() if one.pin.ref.key == quote.key)
    resolved = resolve_quote(book.text, book.manifest, quote.part_id, *quote.span)
    assert resolved == book.text[slice(*quote.span)]


def _parts(passages: Sequence[Passage], book: Book) -> list[Span]:
    firsts = {
        passage.span[0] // PART_CHARACTERS * PART_CHARACTERS
        for passage in passages
        if passage.key == book.pin.ref.key
    }
    spans = [(first, min(first + PART_CHARACTERS, len(book.text))) for first in firsts]
    assert characters(spans) <= len(book.text)
    return spans


def _confidence(question: Question, passages: Sequence[Passage]) -> float:
    material = material_of(question, passages, ())
    return highest_confidence(question.text, material, stemmer(question.language))


def _withheld(shelf: Shelf, asked: Asked, others: Collection[str]) -> float:
    return _confidence(shelf.ask(asked.text, others), shelf.gather(asked.text, others))
