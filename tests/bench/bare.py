"""The anchors of the search: tantivy with the same schema and nothing around it, and PostgreSQL."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg
from tantivy import Document, Index, IndexWriter, Occur, Query, SchemaBuilder

from chancery.retrieval.adapters.documents import REPEATED
from chancery.retrieval.adapters.tenant_index import WRITER_HEAP_BYTES
from chancery.retrieval.adapters.words import STEMS, prepare
from chancery.retrieval.domain.entries import Entry, Pin
from chancery.retrieval.domain.repetition import repeated
from chancery.store import pool
from chancery.store.queries import load_queries
from chancery.testkit.postgres import create_database, drop_database

LIMIT: Final = 20
_QUERIES = load_queries("tests.bench")
_INSERT_MANY: Final = 2_000
_WORD: Final = re.compile(r"\w+")

_builder = SchemaBuilder()
for _name in ("kind", "pin"):
    _builder.add_unsigned_field(_name, indexed=True, fast=True)
_builder.add_unsigned_field("revision", indexed=True)
for _name in ("ordinal", "start", "end", *REPEATED):
    _builder.add_unsigned_field(_name, fast=True)
_builder.add_text_field("name", stored=True, tokenizer_name="raw", index_option="basic")
_builder.add_text_field("text", tokenizer_name="text", index_option="freq")
SCHEMA: Final = _builder.build()


@dataclass(frozen=True, slots=True)
class BareIndex:
    """A tantivy index in a folder."""

    index: Index
    writer: IndexWriter

    @classmethod
    def at(cls, folder: Path) -> BareIndex:
        """Make an index in the folder."""
        folder.mkdir()
        index = Index(SCHEMA, path=str(folder))
        index.register_tokenizer("text", STEMS)
        return cls(index, index.writer(WRITER_HEAP_BYTES, 1))

    def build(self, found: Sequence[tuple[Pin, Sequence[Entry]]], *, commit_every: int) -> float:
        """Add the passages, cut and looked through already, and return the seconds that it took."""
        filters = [[repeated(entry.text) for entry in entries] for _, entries in found]
        begun = time.perf_counter()
        for number, ((pin, entries), each) in enumerate(zip(found, filters, strict=True), start=1):
            for entry, again in zip(entries, each, strict=True):
                self.writer.add_document(_document(pin, entry, again))
            if number % commit_every == 0:
                self.writer.commit()
        self.writer.commit()
        self.index.reload()
        return time.perf_counter() - begun

    def search(self, question: str, pins: Sequence[int]) -> int:
        """Run the engine's own query and return how many hits there are, their places read."""
        words = [
            (Occur.Should, Query.term_query(SCHEMA, "text", term, "freq"))
            for term in dict.fromkeys(STEMS.analyze(prepare(question)))
        ]
        scope = Query.const_score_query(Query.term_set_query(SCHEMA, "pin", list(pins)), 0.0)
        query = Query.boolean_query([(Occur.Must, scope), (Occur.Must, Query.boolean_query(words))])
        searcher = self.index.searcher()
        found = [address for _, address in searcher.search(query, LIMIT, count=False).hits]
        for name in ("pin", "ordinal", "start", "end"):
            searcher.fast_field_values(name, found)
        return len(found)


@dataclass(frozen=True, slots=True)
class BarePostgres:
    """Full-text search in a table of passages."""

    connection: pool.Connection

    async def fill(self, passages: Iterator[tuple[int, str]]) -> float:
        """Store (revision, passage) and return the seconds, with those of the indexes."""
        begun = time.perf_counter()
        rows = list(enumerate(passages))
        for first in range(0, len(rows), _INSERT_MANY):
            some = rows[first : first + _INSERT_MANY]
            await self.connection.execute(
                _QUERIES["insert_passages"],
                [number for number, _ in some],
                [revision for _, (revision, _) in some],
                [text for _, (_, text) in some],
            )
        for name in ("index_words", "index_revisions", "analyze_passages"):
            await self.connection.execute(_QUERIES[name])
        return time.perf_counter() - begun

    async def search(self, question: str, revisions: Sequence[int]) -> int:
        """Return how many hits there are for any of the words."""
        words = " | ".join(dict.fromkeys(_WORD.findall(question.lower())))
        found = await self.connection.fetch(
            _QUERIES["search_passages"], words, list(revisions), LIMIT
        )
        return len(found)


@asynccontextmanager
async def bare_postgres(server_dsn: str) -> AsyncGenerator[BarePostgres]:
    """Yield a database of its own with the empty table; nothing is left behind."""
    database = await create_database(server_dsn)
    try:
        opened = await asyncpg.connect(database.superuser_dsn)
        try:
            for name in ("create_schema", "create_passages"):
                await opened.execute(_QUERIES[name])
            yield BarePostgres(opened)
        finally:
            async with asyncio.timeout(10):
                await opened.close()
    finally:
        await drop_database(server_dsn, database.name)


def _document(pin: Pin, entry: Entry, again: Sequence[int]) -> Document:
    document = Document()
    numbers = {
        "kind": 1,
        "revision": pin.ref.number,
        "pin": pin.number,
        "ordinal": entry.ordinal,
        "start": entry.start,
        "end": entry.end,
        **dict(zip(REPEATED, again, strict=True)),
    }
    for name, value in numbers.items():
        document.add_unsigned(name, value)
    document.add_text("text", entry.text)
    return document
