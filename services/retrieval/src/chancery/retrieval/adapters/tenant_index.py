"""One tenant's tantivy index: entries by pin, and the position it stands at, in one commit."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from tantivy import (
    DocAddress,
    Document,
    Index,
    IndexWriter,
    Occur,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
)

from chancery.retrieval.adapters.words import (
    ANALYZERS,
    prepare,
    question_terms,
    word_terms,
)
from chancery.retrieval.domain.entries import Entry, EntryKind, Pin, RevisionRef
from chancery.retrieval.domain.gathering import Hit
from chancery.retrieval.errors import IndexBroken, IndexInUse

SCOPES_REMEMBERED = 32
"""Filters that are kept: a run searches the same revisions several times, and others do later."""

WRITER_HEAP_BYTES = 32 * 1024 * 1024
"""When the writer's memory is full it starts a segment; the engine needs at least 15 MB."""

_MARKER = 0
"""A document that says: all entries of this pin are here, as of `start` in the authority log."""

_TOMBSTONE = 4
"""A document that says: nothing of this revision is here, as of `start` in the authority log."""

_POSITION = 3
"""The one document that says how far the index has come, in `start`."""

_KINDS: dict[EntryKind, int] = {"passage": 1, "measure": 2}


def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field("kind", indexed=True, fast=True)
    builder.add_unsigned_field("revision", indexed=True, fast=True)
    builder.add_unsigned_field("pin", indexed=True, fast=True)
    for name in ("ordinal", "start", "end"):
        builder.add_unsigned_field(name, fast=True)
    builder.add_text_field("name", stored=True, tokenizer_name="raw", index_option="basic")
    for language in ANALYZERS:
        builder.add_text_field(language, tokenizer_name=language, index_option="freq")
    return builder.build()


_SCHEMA = _schema()


@runtime_checkable
class _Counted(Protocol):
    """What the engine's type stubs leave out of its search result."""

    @property
    def count(self) -> int: ...


class _Word(NamedTuple):
    """What is to be said of a revision: that its entries are here under a pin, or none are."""

    pin: int | None
    as_of: int


@dataclass(slots=True)
class TenantIndex:
    """An open index; `position` is the INDEX sequence up to which it holds everything.

    `held` is which pin of each revision has its entries here, by their numbers, as of the last
    commit, and `pins` are those pins; `known` is as of which place of the authority log each
    revision has its word here; `coming` is what the next commit changes of all that.
    """

    tenant: str
    index: Index
    searcher: Searcher
    position: int = 0
    writer: IndexWriter | None = None
    held: dict[int, int] = field(default_factory=dict[int, int])
    pins: set[int] = field(default_factory=set[int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    coming: dict[int, _Word] = field(default_factory=dict[int, "_Word"])

    @classmethod
    def open(cls, tenant: str, folder: Path) -> TenantIndex:
        """Open the index in `folder`, or make it there.

        Raises:
            IndexBroken: when what is there cannot be read.
        """
        with engine_errors(tenant):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            index = Index(_SCHEMA, path=str(folder))
            for language, analyzer in ANALYZERS.items():
                index.register_tokenizer(language, analyzer)
            opened = cls(tenant, index, index.searcher())
            opened.position = opened.read_position()
            opened.held = opened.read("pin", _MARKER)
            opened.known = opened.read("start", _MARKER) | opened.read("start", _TOMBSTONE)
            opened.pins = set(opened.held.values())
        return opened

    def read_position(self) -> int:
        """Return the position that the last commit wrote, 0 for an empty index."""
        found = self.searcher.search(_of_kind(_POSITION), 1, count=False).hits
        values = self.searcher.fast_field_values("start", [address for _, address in found])
        return int(values[0] or 0) if values else 0

    def read(self, field: str, kind: int) -> dict[int, int]:
        """Return a field of the documents of one kind in the last commit, by their revision."""
        searcher = self.searcher
        found = searcher.search(_of_kind(kind), max(1, searcher.num_docs), count=False).hits
        addresses = [address for _, address in found]
        revisions = _numbers(searcher, "revision", addresses)
        return dict(zip(revisions, _numbers(searcher, field, addresses), strict=True))

    def replace(
        self, ref: RevisionRef, pin: Pin | None, entries: Sequence[Entry], *, as_of: int = 0
    ) -> None:
        """Put `entries` in the place of what is there of `ref`, from the next commit on."""
        with engine_errors(self.tenant):
            writer, revision = self._open_writer(), ref.number
            # Each deletion is a search of every segment at the next commit.
            if revision in self.known or revision in self.coming:
                writer.delete_documents_by_query(_term("revision", revision))
            if pin is None:
                writer.add_document(_document(_TOMBSTONE, revision=revision, start=as_of))
                self.coming[revision] = _Word(None, as_of)
                return
            number = pin.number
            for entry in entries:
                writer.add_document(_entry_document(revision, number, entry))
            writer.add_document(_document(_MARKER, revision=revision, pin=number, start=as_of))
            self.coming[revision] = _Word(number, as_of)

    def commit(self, position: int) -> None:
        """Make the replacements and `position` durable and searchable at once."""
        with engine_errors(self.tenant):
            writer = self._open_writer()
            writer.delete_documents_by_query(_term("kind", _POSITION))
            writer.add_document(_document(_POSITION, start=position))
            writer.commit()
            # What goes is not confirmed from before the swap on, what comes from after it on.
            self.pins.difference_update(
                self.held.pop(revision) for revision in self.coming if revision in self.held
            )
            self.index.reload()
            self.searcher = self.index.searcher()
        words = self.coming.items()
        kept = {revision: word.pin for revision, word in words if word.pin is not None}
        self.known |= {revision: word.as_of for revision, word in words}
        self.held |= kept
        self.pins.update(kept.values())
        self.coming = {}
        self.position = position

    def release_writer(self) -> None:
        """Give the writer's memory and lock back; what was not committed is forgotten."""
        self.writer = None
        self.coming = {}

    def search(
        self, question: str, pins: Collection[int], *, kind: EntryKind, limit: int
    ) -> tuple[Hit, ...]:
        """Return the best entries of `kind` among `pins`, best first."""
        words = [
            (Occur.Should, Query.term_query(_SCHEMA, field, term, "freq"))
            for field, term in question_terms(question)
        ]
        if not words or not pins:
            return ()
        query = Query.boolean_query(
            [
                (Occur.Must, _among(pins)),
                (Occur.Must, _of_kind(_KINDS[kind])),
                (Occur.Must, Query.boolean_query(words)),
            ]
        )
        with engine_errors(self.tenant):
            searcher = self.searcher
            found = searcher.search(query, limit, count=False).hits
            return _hits(searcher, [address for _, address in found], named=kind == "measure")

    def statistics(
        self, terms: Sequence[str], pins: Collection[int], language: str
    ) -> tuple[tuple[int, ...], int]:
        """Return in how many passages of `pins` each term stands, and how many there are."""
        if not pins:
            return (0,) * len(terms), 0
        scope = [(Occur.Must, _among(pins)), (Occur.Must, _of_kind(_KINDS["passage"]))]
        with engine_errors(self.tenant):
            searcher = self.searcher
            counts = tuple(
                _count(searcher, [*scope, *words]) if (words := _all_of(term, language)) else 0
                for term in terms
            )
            return counts, _count(searcher, scope)

    def confirmed(self, pins: Collection[int]) -> frozenset[int]:
        """Return those of `pins` whose entries are here."""
        return frozenset(pins).intersection(self.pins)

    def _open_writer(self) -> IndexWriter:
        if self.writer is None:
            self.writer = self.index.writer(WRITER_HEAP_BYTES, 1)
        return self.writer


@contextmanager
def engine_errors(tenant: str) -> Generator[None]:
    """Turn whatever the engine raises, its panics included, into `IndexBroken`."""
    try:
        yield
    except (ValueError, OSError) as error:
        if "LockBusy" in str(error):
            message = "another process writes to this index folder; set another data_dir"
            raise IndexInUse(message) from error
        raise IndexBroken(tenant) from error
    except BaseException as error:
        # A panic of the engine is no Exception; its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise IndexBroken(tenant) from error
        raise


def _among(pins: Collection[int]) -> Query:
    return _of_pins(pins if isinstance(pins, tuple) else tuple(pins))


@lru_cache(maxsize=SCOPES_REMEMBERED)
def _of_pins(pins: tuple[int, ...]) -> Query:
    return Query.const_score_query(Query.term_set_query(_SCHEMA, "pin", list(pins)), 0.0)


def _all_of(term: str, language: str) -> list[tuple[Occur, Query]]:
    return [
        (Occur.Must, Query.term_query(_SCHEMA, field, word, "freq"))
        for field, word in word_terms(term, language)
    ]


def _count(searcher: Searcher, parts: list[tuple[Occur, Query]]) -> int:
    found = searcher.search(Query.boolean_query(parts), 1, count=True)
    assert isinstance(found, _Counted), "the engine counts when it is told to"
    return found.count


def _of_kind(kind: int) -> Query:
    return Query.const_score_query(_term("kind", kind), 0.0)


def _term(field: str, value: int) -> Query:
    # Deleting by term leaves documents of unsigned fields where they are (tantivy-py 0.27).
    return Query.term_query(_SCHEMA, field, value)


def _entry_document(revision: int, pin: int, entry: Entry) -> Document:
    document = _document(
        _KINDS[entry.kind],
        revision=revision,
        pin=pin,
        ordinal=entry.ordinal,
        start=entry.start,
        end=entry.end,
    )
    if entry.name:
        document.add_text("name", entry.name)
    prepared = prepare(entry.text)
    for language in ANALYZERS:
        document.add_text(language, prepared)
    return document


def _document(kind: int, **numbers: int) -> Document:
    document = Document()
    document.add_unsigned("kind", kind)
    for name, value in numbers.items():
        document.add_unsigned(name, value)
    return document


def _hits(searcher: Searcher, found: list[DocAddress], *, named: bool) -> tuple[Hit, ...]:
    columns = (_numbers(searcher, name, found) for name in ("pin", "ordinal", "start", "end"))
    names = [_name(searcher, address) for address in found] if named else [""] * len(found)
    return tuple(Hit(*values) for values in zip(*columns, names, strict=True))


def _numbers(searcher: Searcher, field: str, found: list[DocAddress]) -> list[int]:
    return [int(value or 0) for value in searcher.fast_field_values(field, found)]


def _name(searcher: Searcher, address: DocAddress) -> str:
    return str(searcher.doc(address).get_first("name") or "")
