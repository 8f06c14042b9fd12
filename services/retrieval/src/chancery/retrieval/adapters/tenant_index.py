"""One tenant's tantivy index: entries by pin, and the position it stands at, in one commit."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tantivy import Index, IndexWriter, Searcher

from chancery.retrieval.adapters.documents import (
    MARKER,
    POSITION,
    SCHEMA,
    TEXT,
    TOMBSTONE,
    document_of,
    entry_document,
    exactly,
    numbers,
    of_kind,
)
from chancery.retrieval.adapters.engine import engine_errors
from chancery.retrieval.adapters.scoped import Scoped
from chancery.retrieval.adapters.words import STEMS
from chancery.retrieval.domain.entries import Entry, Pin, RevisionRef

WRITER_HEAP_BYTES = 32 * 1024 * 1024
"""When the writer's memory is full it starts a segment; the engine needs at least 15 MB."""

SCOPES_REMEMBERED = 32
"""Scopes whose places are kept: a run and those after it often search the same revisions."""


class _Change(NamedTuple):
    """What the next commit does of a revision: its entries are here under a pin, or none are."""

    pin: int | None
    as_of: int
    slot: int = 0


class _Places(NamedTuple):
    """Where the pins of a scope have their entries, and which of them have none."""

    slots: tuple[int, ...]
    unconfirmed: frozenset[int]


@dataclass(slots=True)
class TenantIndex:
    """An open index; `position` is the INDEX sequence up to which it holds everything.

    `held` is which pin of each revision has its entries here, by their numbers, as of the last
    commit, and `slots` where each of those pins has them; `known` is as of which place of the
    authority log each revision has its word here; `coming` is what the next commit changes of all
    that, and `last_slot` the last one that was given out. `scopes` are the places of scopes that
    were searched since. Many threads search while one commits: `swap` is held whenever `searcher`,
    `slots` and `scopes` are read or written, which belong together.
    """

    tenant: str
    index: Index
    searcher: Searcher
    position: int = 0
    writer: IndexWriter | None = None
    held: dict[int, int] = field(default_factory=dict[int, int])
    slots: dict[int, int] = field(default_factory=dict[int, int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    coming: dict[int, _Change] = field(default_factory=dict[int, "_Change"])
    last_slot: int = 0
    scopes: dict[tuple[int, ...], _Places] = field(default_factory=dict[tuple[int, ...], "_Places"])
    swap: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, tenant: str, folder: Path) -> TenantIndex:
        """Open the index in `folder`, or make it there.

        Raises:
            IndexBroken: when what is there cannot be read.
        """
        with engine_errors(tenant):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            index = Index(SCHEMA, path=str(folder))
            index.register_tokenizer(TEXT, STEMS)
            opened = cls(tenant, index, index.searcher())
            opened.position = opened.read_position()
            opened.held = opened.read("pin", MARKER)
            opened.known = opened.read("start", MARKER) | opened.read("start", TOMBSTONE)
            slots = opened.read("slot", MARKER)
            opened.slots = {pin: slots[revision] for revision, pin in opened.held.items()}
            opened.last_slot = max(slots.values(), default=0)
        return opened

    def read_position(self) -> int:
        """Return the position that the last commit wrote, 0 for an empty index."""
        found = self.searcher.search(of_kind(POSITION), 1, count=False).hits
        values = self.searcher.fast_field_values("start", [address for _, address in found])
        return int(values[0] or 0) if values else 0

    def read(self, field: str, kind: int) -> dict[int, int]:
        """Return a field of the documents of one kind in the last commit, by their revision."""
        searcher = self.searcher
        found = searcher.search(of_kind(kind), max(1, searcher.num_docs), count=False).hits
        addresses = [address for _, address in found]
        revisions = numbers(searcher, "revision", addresses)
        return dict(zip(revisions, numbers(searcher, field, addresses), strict=True))

    def replace(
        self, ref: RevisionRef, pin: Pin | None, entries: Sequence[Entry], *, as_of: int = 0
    ) -> None:
        """Put `entries` in the place of what is there of `ref`, from the next commit on."""
        with engine_errors(self.tenant):
            writer, revision = self._open_writer(), ref.number
            # Each deletion is a search of every segment at the next commit.
            if revision in self.known or revision in self.coming:
                writer.delete_documents_by_query(exactly("revision", revision))
            if pin is None:
                writer.add_document(document_of(TOMBSTONE, revision=revision, start=as_of))
                self.coming[revision] = _Change(None, as_of)
                return
            self.last_slot += 1
            number, slot = pin.number, self.last_slot
            for entry in entries:
                writer.add_document(entry_document(revision, number, slot, entry))
            writer.add_document(
                document_of(MARKER, revision=revision, pin=number, slot=slot, start=as_of)
            )
            self.coming[revision] = _Change(number, as_of, slot)

    def commit(self, position: int) -> None:
        """Make the replacements and `position` durable and searchable at once."""
        with engine_errors(self.tenant):
            writer = self._open_writer()
            writer.delete_documents_by_query(exactly("kind", POSITION))
            writer.add_document(document_of(POSITION, start=position))
            writer.commit()
            self.index.reload()
            searcher = self.index.searcher()
        with self.swap:
            self._swap(searcher)
        self.known |= {revision: change.as_of for revision, change in self.coming.items()}
        self.coming = {}
        self.position = position

    def release_writer(self) -> None:
        """Give the writer's memory and lock back; what was not committed is forgotten."""
        self.writer = None
        self.coming = {}

    def within(self, pins: Collection[int], hidden: Collection[tuple[int, str]] = ()) -> Scoped:
        """Return the entries of `pins` as of the last commit; see `SearchIndex.within`."""
        scope = tuple(pins)
        with self.swap:
            if (places := self.scopes.get(scope)) is None:
                if len(self.scopes) >= SCOPES_REMEMBERED:
                    self.scopes.clear()
                places = self.scopes[scope] = self._places(scope)
            names = [(self.slots[pin], name) for pin, name in hidden if pin in self.slots]
            return Scoped(self.tenant, self.searcher, *places, tuple(names))

    def _places(self, pins: tuple[int, ...]) -> _Places:
        slots = tuple(slot for pin in pins if (slot := self.slots.get(pin)) is not None)
        return _Places(slots, frozenset(pin for pin in pins if pin not in self.slots))

    def _swap(self, searcher: Searcher) -> None:
        """Have what was committed searched from now on."""
        for revision, change in self.coming.items():
            if (gone := self.held.pop(revision, None)) is not None:
                self.slots.pop(gone, None)
            if change.pin is not None:
                self.held[revision] = change.pin
                self.slots[change.pin] = change.slot
        self.searcher = searcher
        self.scopes.clear()

    def _open_writer(self) -> IndexWriter:
        if self.writer is None:
            self.writer = self.index.writer(WRITER_HEAP_BYTES, 1)
        return self.writer
