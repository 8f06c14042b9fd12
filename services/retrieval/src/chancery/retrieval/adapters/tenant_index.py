"""One tenant's tantivy index: entries by pin, and the position it stands at, in one commit."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
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
from chancery.retrieval.adapters.scoped import SCOPES_REMEMBERED, Scoped
from chancery.retrieval.adapters.words import STEMS
from chancery.retrieval.domain.entries import Entry, EntryKind, Pin, RevisionRef
from chancery.retrieval.domain.gathering import Hit
from chancery.retrieval.errors import IndexBroken, IndexInUse

WRITER_HEAP_BYTES = 32 * 1024 * 1024
"""When the writer's memory is full it starts a segment; the engine needs at least 15 MB."""


class _Word(NamedTuple):
    """What is to be said of a revision: that its entries are here under a pin, or none are."""

    pin: int | None
    as_of: int
    slot: int = 0


@dataclass(slots=True)
class TenantIndex:
    """An open index; `position` is the INDEX sequence up to which it holds everything.

    `held` is which pin of each revision has its entries here, by their numbers, as of the last
    commit, and `slots` where each of those pins has them; `known` is as of which place of the
    authority log each revision has its word here; `coming` is what the next commit changes of all
    that, and `last_slot` the last one that was given out. `scopes` are the slots of scopes that
    were searched since.
    """

    tenant: str
    index: Index
    searcher: Searcher
    position: int = 0
    writer: IndexWriter | None = None
    held: dict[int, int] = field(default_factory=dict[int, int])
    slots: dict[int, int] = field(default_factory=dict[int, int])
    known: dict[int, int] = field(default_factory=dict[int, int])
    coming: dict[int, _Word] = field(default_factory=dict[int, "_Word"])
    last_slot: int = 0
    scopes: dict[tuple[int, ...], tuple[int, ...]] = field(
        default_factory=dict[tuple[int, ...], tuple[int, ...]]
    )

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
                self.coming[revision] = _Word(None, as_of)
                return
            self.last_slot += 1
            number, slot = pin.number, self.last_slot
            for entry in entries:
                writer.add_document(entry_document(revision, number, slot, entry))
            writer.add_document(
                document_of(MARKER, revision=revision, pin=number, slot=slot, start=as_of)
            )
            self.coming[revision] = _Word(number, as_of, slot)

    def commit(self, position: int) -> None:
        """Make the replacements and `position` durable and searchable at once."""
        with engine_errors(self.tenant):
            writer = self._open_writer()
            writer.delete_documents_by_query(exactly("kind", POSITION))
            writer.add_document(document_of(POSITION, start=position))
            writer.commit()
            # What goes is not confirmed from before the swap on, what comes from after it on.
            for revision in self.coming:
                if (gone := self.held.pop(revision, None)) is not None:
                    self.slots.pop(gone, None)
            self.index.reload()
            self.searcher = self.index.searcher()
        words = self.coming.items()
        kept = {revision: word.pin for revision, word in words if word.pin is not None}
        slots = {word.pin: word.slot for _, word in words if word.pin is not None}
        self.known |= {revision: word.as_of for revision, word in words}
        self.held |= kept
        self.slots |= slots
        self.scopes = {}  # Another one: who reads the slots before must not write what is kept.
        self.coming = {}
        self.position = position

    def release_writer(self) -> None:
        """Give the writer's memory and lock back; what was not committed is forgotten."""
        self.writer = None
        self.coming = {}

    def search(
        self,
        question: str,
        pins: Collection[int],
        *,
        kind: EntryKind,
        limit: int,
        hidden: Collection[tuple[int, str]] = (),
    ) -> tuple[Hit, ...]:
        """Return the best entries of `kind` among `pins`; see `SearchIndex.search`."""
        slots = self._slots(pins)
        if not slots:
            return ()
        names = [(self.slots.get(pin, 0), name) for pin, name in hidden]
        with engine_errors(self.tenant):
            return Scoped(self.searcher, slots, kind).best(question, limit=limit, hidden=names)

    def statistics(
        self, terms: Sequence[str], pins: Collection[int]
    ) -> tuple[tuple[int, ...], int]:
        """Return in how many passages of `pins` each term stands, and how many there are."""
        slots = self._slots(pins)
        if not slots:
            return (0,) * len(terms), 0
        with engine_errors(self.tenant):
            return Scoped(self.searcher, slots, "passage").count(terms)

    def confirmed(self, pins: Collection[int]) -> frozenset[int]:
        """Return those of `pins` whose entries are here."""
        if len(self._slots(pins)) == len(pins):
            return frozenset(pins)
        return frozenset(filter(self.slots.__contains__, pins))

    def _slots(self, pins: Collection[int]) -> tuple[int, ...]:
        """Return where those of `pins` that are here have their entries.

        Ask before taking the searcher: it is swapped before the new slots are told of. The first
        slot is 1.
        """
        scopes, scope = self.scopes, tuple(pins)
        if (known := scopes.get(scope)) is not None:
            return known
        if len(scopes) >= SCOPES_REMEMBERED:
            scopes.clear()
        return scopes.setdefault(scope, tuple(filter(None, map(self.slots.get, scope))))

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
