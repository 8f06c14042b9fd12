"""The ledger in PostgreSQL: a page is a locked row, stored when its transaction commits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from asyncpg import Record

from chancery.authority.states import from_json, to_json
from chancery.indexing.domain.history import (
    History,
    Indexed,
    Publication,
    ResourceRef,
    indexed,
)
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.standing import Extracted, Failed, Outcome, Revision, Standing
from chancery.kernel.canonical import Json
from chancery.store.pool import Connection, Pool, transaction
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.indexing")
_ENSURE_RESOURCES = _QUERIES["ensure_resources"]
_LOCK_RESOURCES = _QUERIES["lock_resources"]
_READ_OPEN_REVISIONS = _QUERIES["read_open_revisions"]
_SAVE_RESOURCE = _QUERIES["save_resource"]
_SAVE_REVISION = _QUERIES["save_revision"]


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """The `Ledger` over schema `indexing`."""

    pool: Pool

    @asynccontextmanager
    async def open(
        self, refs: Collection[ResourceRef]
    ) -> AsyncGenerator[Mapping[ResourceRef, Page]]:
        """Lock the pages of `refs`; see `Ledger.open`."""
        async with transaction(self.pool) as connection:
            pages = await _load(connection, sorted(refs))
            before = {ref: dict(page.revisions) for ref, page in pages.items()}
            yield pages
            await _save(connection, pages, before)


async def _load(connection: Connection, refs: Sequence[ResourceRef]) -> dict[ResourceRef, Page]:
    """Return the pages, locked in an order that all holders share, so that none wait in a ring."""
    columns = _columns(refs)
    await connection.execute(_ENSURE_RESOURCES, *columns)
    rows = await connection.fetch(_LOCK_RESOURCES, *columns)
    pages = {ref: _page(ref, row) for row in rows if (ref := _ref(row))}
    for row in await connection.fetch(_READ_OPEN_REVISIONS, *columns):
        revision = _revision(row)
        pages[_ref(row)].revisions[revision.publication.revision] = revision
    assert len(pages) == len(refs), "the rows were ensured in this transaction"
    return pages


async def _save(
    connection: Connection,
    pages: Mapping[ResourceRef, Page],
    before: Mapping[ResourceRef, Mapping[int, Revision]],
) -> None:
    await connection.executemany(_SAVE_RESOURCE, [_position(page) for page in pages.values()])
    changed = [
        (ref.tenant, ref.kind, ref.key, *_values(one))
        for ref, page in pages.items()
        for number, one in page.revisions.items()
        if before[ref].get(number) != one
    ]
    if changed:
        await connection.executemany(_SAVE_REVISION, changed)


def _columns(refs: Sequence[ResourceRef]) -> tuple[list[str], list[str], list[str]]:
    return [one.tenant for one in refs], [one.kind for one in refs], [one.key for one in refs]


def _ref(row: Record) -> ResourceRef:
    return ResourceRef(row["tenant"], row["kind"], row["key"])


def _page(ref: ResourceRef, row: Record) -> Page:
    history = History(row["authority_sequence"], row["changed_sequence"], _state(ref, row["state"]))
    return Page(ref, history, row["index_sequence"])


def _position(page: Page) -> tuple[str | int | Json, ...]:
    ref, history = page.ref, page.history
    state = None if history.state is None else to_json(history.state)
    followed = (history.sequence, history.changed, page.index_sequence)
    return (ref.tenant, ref.kind, ref.key, *followed, state)


def _state(ref: ResourceRef, stored: Json) -> Indexed | None:
    return None if stored is None else indexed(from_json(ref.kind, stored))


def _revision(row: Record) -> Revision:
    publication = Publication(
        row["revision"],
        row["content_sha256"],
        row["media_type"],
        row["size_bytes"],
        row["published_sequence"],
    )
    standing = None
    if row["standing"] is not None:
        standing = Standing(
            row["standing"],
            row["standing_reason"],
            row["standing_manifest_sha256"],
            attempt=row["standing_attempt"],
        )
    return Revision(publication, _outcome(row), standing)


def _outcome(row: Record) -> Outcome | None:
    if row["extractor"] is None:
        return None
    if row["failure"] is not None:
        return Outcome(row["extractor"], Failed(row["failure"], attempt=row["attempt"]))
    extracted = Extracted(row["extraction_sha256"], row["extracted_manifest_sha256"], row["length"])
    return Outcome(row["extractor"], extracted)


def _values(revision: Revision) -> tuple[str | int | None, ...]:
    publication, standing = revision.publication, revision.standing or _NOTHING_SAID
    return (
        publication.revision,
        publication.content_sha256,
        publication.media_type,
        publication.size_bytes,
        publication.sequence,
        *_outcome_values(revision.outcome),
        None if revision.standing is None else standing.state,
        standing.reason,
        standing.attempt,
        standing.manifest_sha256,
    )


_NOTHING_SAID = Standing("pending")


def _outcome_values(outcome: Outcome | None) -> tuple[str | int | None, ...]:
    match outcome:
        case None:
            return (None, None, None, None, None, None)
        case Outcome(extractor, Failed(reason, attempt=attempt)):
            return (extractor, reason, attempt, None, None, None)
        case Outcome(extractor, Extracted(extraction, manifest, length)):
            return (extractor, None, None, extraction, manifest, length)
        case _:
            raise AssertionError
