"""What a tenant's index is made of: its fields, and the documents in it.

An entry is found by its slot, a small number that its pin has in this index: looking up a thousand
of them takes the engine half as long as numbers of 64 bits without an order.
"""

from __future__ import annotations

from typing import Final

from tantivy import DocAddress, Document, Query, Schema, SchemaBuilder, Searcher

from chancery.retrieval.adapters.words import prepare
from chancery.retrieval.domain.entries import Entry, EntryKind
from chancery.retrieval.domain.repetition import COLUMNS, repeated

MARKER: Final = 0
"""A document that says: all entries of this pin are here, as of `start` in the authority log."""

TOMBSTONE: Final = 4
"""A document that says: nothing of this revision is here, as of `start` in the authority log."""

POSITION: Final = 3
"""The one document that says how far the index has come, in `start`."""

KINDS: Final[dict[EntryKind, int]] = {"passage": 1, "measure": 2}

TEXT: Final = "text"
"""The field of the words, and the name of its analyzer."""

REPEATED: Final = tuple(f"repeated_{column}" for column in range(COLUMNS))
"""The filter of the words that an entry says again (`domain.repetition`), a field for each number.
"""


def _schema() -> Schema:
    builder = SchemaBuilder()
    for name in ("kind", "revision", "slot"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    for name in ("pin", "ordinal", "start", "end", *REPEATED):
        builder.add_unsigned_field(name, fast=True)
    builder.add_text_field("name", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(TEXT, tokenizer_name=TEXT, index_option="basic")
    return builder.build()


SCHEMA: Final = _schema()


def of_kind(kind: int) -> Query:
    """Return the query for the documents of one kind; it scores nothing."""
    return Query.const_score_query(exactly("kind", kind), 0.0)


def exactly(field: str, value: int) -> Query:
    """Return the query for the documents with this number."""
    # Deleting by term leaves documents of unsigned fields where they are (tantivy-py 0.27).
    return Query.term_query(SCHEMA, field, value)


def entry_document(revision: int, pin: int, slot: int, entry: Entry) -> Document:
    """Return the document of a passage or a measure card."""
    prepared = prepare(entry.text)
    document = document_of(
        KINDS[entry.kind],
        revision=revision,
        pin=pin,
        slot=slot,
        ordinal=entry.ordinal,
        start=entry.start,
        end=entry.end,
        **dict(zip(REPEATED, repeated(prepared), strict=True)),
    )
    if entry.name:
        document.add_text("name", entry.name)
    document.add_text(TEXT, prepared)
    return document


def document_of(kind: int, **numbers: int) -> Document:
    """Return a document of these fields."""
    document = Document()
    document.add_unsigned("kind", kind)
    for name, value in numbers.items():
        document.add_unsigned(name, value)
    return document


def numbers(searcher: Searcher, field: str, found: list[DocAddress]) -> list[int]:
    """Return a number of each document, 0 where it has none."""
    values = searcher.fast_field_values(field, found)
    return [int(value) if value else 0 for value in values]
