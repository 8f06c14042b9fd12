"""The ledger in PostgreSQL: a page is a locked row, stored when its transaction commits."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from asyncpg import Record

from chancery.authority.states import DatasetState, ResourceState, SourceState, from_json, to_json
from chancery.indexing.domain.history import History, Publication, ResourceRef
from chancery.indexing.domain.page import Page
from chancery.indexing.domain.standing import Extracted, Failed, Outcome, Revision, Standing
from chancery.kernel.canonical import Json
from chancery.store.pool import Connection, Pool, transaction
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.indexing")
_ENSURE_RESOURCE = _QUERIES["ensure_resource"]
_LOCK_RESOURCE = _QUERIES["lock_resource"]
_READ_OPEN_REVISIONS = _QUERIES["read_open_revisions"]
_SAVE_RESOURCE = _QUERIES["save_resource"]
_SAVE_REVISION = _QUERIES["save_revision"]


@dataclass(frozen=True, slots=True)
class PostgresLedger:
    """The `Ledger` over schema `indexing`."""

    pool: Pool

    @asynccontextmanager
    async def open(self, ref: ResourceRef) -> AsyncGenerator[Page]:
        """Lock the page of `ref`; see `Ledger.open`."""
        async with transaction(self.pool) as connection:
            page = await _load(connection, ref)
            before = dict(page.revisions)
            yield page
            changed = [one for number, one in page.revisions.items() if before.get(number) != one]
            await _save(connection, page, changed)


async def _load(connection: Connection, ref: ResourceRef) -> Page:
    names = (ref.tenant, ref.kind, ref.key)
    await connection.execute(_ENSURE_RESOURCE, *names)
    row = await connection.fetchrow(_LOCK_RESOURCE, *names)
    assert row is not None, "the row was ensured in this transaction"
    revisions = [_revision(each) for each in await connection.fetch(_READ_OPEN_REVISIONS, *names)]
    history = History(row["authority_sequence"], row["changed_sequence"], _state(ref, row["state"]))
    by_number = {revision.publication.revision: revision for revision in revisions}
    return Page(ref, history, row["index_sequence"], by_number)


async def _save(connection: Connection, page: Page, changed: list[Revision]) -> None:
    names = (page.ref.tenant, page.ref.kind, page.ref.key)
    history = page.history
    state = None if history.state is None else to_json(history.state)
    await connection.execute(
        _SAVE_RESOURCE, *names, history.sequence, history.changed, page.index_sequence, state
    )
    await connection.executemany(_SAVE_REVISION, [(*names, *_values(one)) for one in changed])


def _state(ref: ResourceRef, stored: Json) -> ResourceState | None:
    if stored is None:
        return None
    state = from_json(ref.kind, stored)
    assert isinstance(state, SourceState | DatasetState), "a resource is a source or a dataset"
    return state


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
            row["standing"], row["standing_reason"], row["standing_manifest_sha256"]
        )
    return Revision(publication, _outcome(row), standing)


def _outcome(row: Record) -> Outcome | None:
    if row["extractor"] is None:
        return None
    if row["failure"] is not None:
        return Outcome(row["extractor"], Failed(row["failure"]))
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
        standing.manifest_sha256,
    )


_NOTHING_SAID = Standing("pending")


def _outcome_values(outcome: Outcome | None) -> tuple[str | int | None, ...]:
    match outcome:
        case None:
            return (None, None, None, None, None)
        case Outcome(extractor, Failed(reason)):
            return (extractor, reason, None, None, None)
        case Outcome(extractor, Extracted(extraction, manifest, length)):
            return (extractor, None, extraction, manifest, length)
        case _:
            raise AssertionError
