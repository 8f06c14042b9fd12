"""Documents on a shelf: extracted, cut, indexed and gathered from as the services do it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chancery.events.run import Bounds
from chancery.evidence.manifest import Manifest, build_manifest
from chancery.execution.ports import Passage, Question, Statistics
from chancery.extract.extraction import Extraction
from chancery.extract.pool import ExtractionPool
from chancery.kernel.canonical import sha256_hex
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.domain.entries import Pin, RevisionRef, text_entries
from chancery.retrieval.domain.gathering import HITS_MAX, counted_terms, gather_passages

TENANT = "quality"


@dataclass(frozen=True, slots=True)
class Book:
    """One document as it is published: its text, its manifest and its pin."""

    name: str
    text: str
    manifest: Manifest
    pin: Pin


@dataclass(frozen=True, slots=True)
class Shelf:
    """Books by name, and the tenant's index over all of them."""

    indexes: TenantIndexes
    books: dict[str, Book] = field(default_factory=dict[str, Book])

    def ask(self, question: str, names: Collection[str]) -> Question:
        """Return `question` as execution gets it: with the words counted in these books."""
        pins = [self.books[name].pin.number for name in names]
        counts, total = self.indexes.within(TENANT, pins).statistics(counted_terms(question))
        return Question(question, "en", Bounds(), Statistics(counts, total))

    def gather(self, question: str, names: Collection[str]) -> tuple[Passage, ...]:
        """Return what a run over these books gathers for `question`, best first."""
        pins = {self.books[name].pin.number: self.books[name].pin for name in names}
        hits = self.indexes.within(TENANT, pins).search(question, kind="passage", limit=HITS_MAX)
        books = {self.books[name].pin.ref.key: self.books[name] for name in names}
        return tuple(
            Passage(
                key=one.key,
                revision=one.revision,
                part_id=one.part_id,
                span=(one.start, one.end),
                text=books[one.key].text,
                is_paged=bool(books[one.key].manifest.pages),
            )
            for one in gather_passages(hits, pins, Bounds().max_sources)
        )


async def read_all(media_type: str, files: Mapping[str, bytes]) -> dict[str, Extraction]:
    """Return what the extraction that is shipped makes of each file."""
    async with ExtractionPool() as pool:
        return {name: await pool.extract(media_type, data) for name, data in files.items()}


def fill_shelf(folder: Path, extractions: Mapping[str, Extraction]) -> Shelf:
    """Publish documents into a fresh index below `folder`."""
    shelf = Shelf(TenantIndexes.open(folder))
    for position, (name, extraction) in enumerate(sorted(extractions.items()), start=1):
        book = _publish(name, extraction)
        shelf.books[name] = book
        entries = text_entries(book.manifest, book.text)
        shelf.indexes.replace(TENANT, book.pin.ref, book.pin, entries)
        shelf.indexes.commit(TENANT, position)
    return shelf


def _publish(name: str, extraction: Extraction) -> Book:
    key = f"source-{sha256_hex(name.encode())[:16]}"
    sha256 = sha256_hex(extraction.text.encode())
    manifest = build_manifest(
        key,
        1,
        content_sha256=sha256,
        extractor=extraction.extractor,
        text=extraction.text,
        pages=extraction.pages,
    )
    pin = Pin(RevisionRef("source", key, 1), sha256, manifest.sha256)
    return Book(name, extraction.text, manifest, pin)
