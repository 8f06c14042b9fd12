"""The hard gate: a released quotation is source[start:end] of its revision, whatever its type."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chancery.evidence.quote import UnsupportedSelection, quote_of_part
from chancery.execution.domain.quoting import Limits
from chancery.execution.ports import SelectedQuote
from chancery.extract.extraction import Extraction
from chancery.kernel.errors import Corrupt
from tests.quality.kinds import Kind, squeezed
from tests.quality.runs import select_quotes
from tests.quality.shelf import Book, Shelf, fill_shelf, read_all


@dataclass(frozen=True, slots=True)
class Released:
    """A quotation as a reader gets it: its document, its words, and where they are said to stand.

    `text` is None when release refuses what was selected.
    """

    document: str
    text: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of one type: of `released` quotations, how many differ, and from what.

    `differing` ones are not source[start:end]; `foreign` ones have words that the document that was
    written does not have in that order.
    """

    kind: str
    documents: int
    released: int
    differing: int
    foreign: int


def compare(
    folder: Path, kind: Kind, documents: Mapping[str, str], questions: Sequence[str]
) -> Compared:
    """Publish `documents` as files of `kind`, ask everything, compare every quotation.

    Quotations are resolved from their part alone, as a reader verifies them; the source that they
    are compared with is read from the file a second time.
    """
    files = {name: kind.write(text) for name, text in documents.items()}
    first, second = (asyncio.run(read_all(kind.media_type, files)) for _ in range(2))
    shelf = fill_shelf(folder, first)
    released = [one for question in questions for one in _released(shelf, question)]
    written = {name: squeezed(kind.shown(text)) for name, text in documents.items()}
    return Compared(
        kind=kind.name,
        documents=len(documents),
        released=len(released),
        differing=len(differing(released, _sources(second))),
        foreign=sum(squeezed(one.text or "") not in written[one.document] for one in released),
    )


def differing(released: Sequence[Released], sources: Mapping[str, str]) -> list[Released]:
    """Return the quotations that are not the named characters of their source."""
    return [one for one in released if one.text != sources[one.document][one.start : one.end]]


def _released(shelf: Shelf, question: str) -> list[Released]:
    names = shelf.books.keys()
    quotes = select_quotes(shelf.ask(question, names), shelf.gather(question, names), Limits())
    books = {book.pin.ref.key: book for book in shelf.books.values()}
    return [resolved(books[quote.key], quote) for quote in quotes]


def resolved(book: Book, quote: SelectedQuote) -> Released:
    """Return a selected quotation with its words, taken from its part."""
    start, end = quote.span
    part = book.manifest.part(quote.part_id)
    try:
        text = quote_of_part(part, part.slice(book.text), start, end) if part else None
    except (UnsupportedSelection, Corrupt):
        text = None
    return Released(book.name, text, start, end)


def _sources(extractions: Mapping[str, Extraction]) -> dict[str, str]:
    return {name: found.text for name, found in extractions.items()}
