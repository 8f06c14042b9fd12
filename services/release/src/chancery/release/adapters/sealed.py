"""The sealed record in PostgreSQL: inserted once, whole, in the caller's transaction; then read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from chancery.attest.sealing import ReleaseKey
from chancery.authority.release import ReleaseRequest
from chancery.events.topology import release_subject
from chancery.evidence.documents import reset_context_of
from chancery.kernel.canonical import Json, exact_bytes
from chancery.release.adapters.runs import RUN_FIELDS, run_of
from chancery.release.domain.releases import Release, unsealed
from chancery.release.domain.runs import Run
from chancery.release.domain.sealing import SealedRows
from chancery.release.errors import SealedRowDamaged
from chancery.store.pool import Connection, Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_INSERT_RELEASES = _QUERIES["insert_releases"]
_INSERT_CHILDREN = _QUERIES["insert_children"]
_READ_RELEASE = _QUERIES["read_release"]
_READ_RUN_WITH_RELEASE = _QUERIES["read_run_with_release"]
_READ_CONTENT = _QUERIES["read_content"]

DOCUMENT: Final = "document"

_REQUEST: Final = TypeAdapter(ReleaseRequest)


@dataclass(frozen=True, slots=True)
class Releases:
    """Reads the sealed record."""

    pool: Pool

    async def read(self, tenant: str, run_id: str, generation: int) -> Release | None:
        """Return the release of a run's generation, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RELEASE, tenant, run_id, generation)
        return None if row is None else _release(tenant, dict(row), None)

    async def read_last(self, tenant: str, run_id: str) -> tuple[Run | None, Release | None]:
        """Return a run and the release of its current generation with its document, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RUN_WITH_RELEASE, tenant, run_id)
        if row is None:
            return None, None
        fields = dict(row)
        run = run_of({name: fields[name] for name in RUN_FIELDS})
        if fields["release_id"] is None:
            return run, None
        own = {name: fields[f"sealed_{name}"] for name in ("workspace_id", "principal")}
        return run, _release(tenant, {**fields, **own}, fields["document"])

    async def contents(self, release: Release, *kinds: str) -> dict[str, bytes]:
        """Return the exact bytes of these content rows of a release.

        Raises:
            SealedRowDamaged: one is missing, or the keys were erased.
            SealBroken: one was altered or moved.
        """
        if kinds == (DOCUMENT,) and release.document is not None:
            return {DOCUMENT: unsealed(release, DOCUMENT, 0, release.document)}
        with translate_errors():
            rows = await self.pool.fetch(
                _READ_CONTENT, release.tenant, release.release_id, list(kinds)
            )
        found = {
            row["kind"]: unsealed(release, row["kind"], row["n"], row["ciphertext"]) for row in rows
        }
        if set(found) != set(kinds):
            message = "a sealed content row is missing"
            raise SealedRowDamaged(message)
        return found


async def insert_releases(connection: Connection, rows: Sequence[SealedRows]) -> None:
    """Insert releases with everything that belongs to them and end their runs; the caller commits.

    A child row names its release by its place among `rows`, counted from 1.
    """
    releases = [_release_columns(each) for each in rows]
    await connection.execute(_INSERT_RELEASES, *map(list, zip(*releases, strict=True)))
    await connection.execute(
        _INSERT_CHILDREN,
        [each.draft.run.tenant for each in rows],
        [each.draft.release_id for each in rows],
        *_joined(_READ_COLUMNS, _reads(rows)),
        *_joined(_CITATION_COLUMNS, _citations(rows)),
        *_joined(_CARD_COLUMNS, _cards(rows)),
        *_joined(_CONTENT_COLUMNS, _contents(rows)),
        [content.ciphertext for each in rows for content in each.contents],
        *map(list, zip(*map(_end, rows), strict=True)),
    )


_Row: TypeAlias = tuple[object, ...]
_Named: TypeAlias = tuple[str | int, ...]
"""A row of ids, fixed names and numbers: none of them holds a comma."""

_READ_COLUMNS: Final = 4
_CITATION_COLUMNS: Final = 7
_CARD_COLUMNS: Final = 4
_CONTENT_COLUMNS: Final = 3


def _joined(count: int, rows: Iterable[_Named]) -> list[str]:
    """Return rows as columns of text, each joined by commas."""
    columns = [",".join(map(str, column)) for column in zip(*rows, strict=True)]
    return columns or [""] * count


def _release_columns(rows: SealedRows) -> _Row:
    draft, decided = rows.draft, rows.decided
    run = draft.run
    request: Json = _REQUEST.dump_python(draft.request, mode="json")
    return (
        run.tenant,
        draft.release_id,
        run.run_id,
        run.generation,
        rows.kind,
        draft.outcome,
        run.workspace_id,
        run.principal,
        0 if decided.cut is None else decided.cut.sequence,
        decided.decided_at,
        draft.language,
        exact_bytes(request).decode(),
        len(draft.answer.citations),
        len(draft.answer.cards),
        reset_context_of(draft.core),
    )


def _reads(rows: Sequence[SealedRows]) -> Iterator[_Named]:
    for place, each in enumerate(rows, 1):
        for entry in each.decided.read_set:
            yield place, entry.kind, entry.id, entry.sequence


def _citations(rows: Sequence[SealedRows]) -> Iterator[_Named]:
    for place, each in enumerate(rows, 1):
        keys = {used.name: used.key for used in each.draft.core.references}
        for number, citation in enumerate(each.draft.answer.citations, 1):
            kind, _, revision = citation.document
            key = keys[citation.document]
            yield place, number, citation.id, citation.kind, kind, key, revision


def _cards(rows: Sequence[SealedRows]) -> Iterator[_Named]:
    for place, each in enumerate(rows, 1):
        for number, card in enumerate(each.draft.answer.cards, 1):
            yield place, number, card.id, card.citation


def _contents(rows: Sequence[SealedRows]) -> Iterator[_Named]:
    for place, each in enumerate(rows, 1):
        for content in each.contents:
            yield place, content.kind, content.number


def _end(rows: SealedRows) -> _Row:
    draft = rows.draft
    run = draft.run
    return (
        run.run_id,
        rows.receipt_sha256,
        rows.receipt_bytes,
        rows.public_key,
        rows.signature,
        rows.keys.key,
        rows.keys.salt,
        rows.frame_number,
        run.generation,
        rows.kind,
        draft.detail,
        rows.event.id,
        release_subject(run.tenant, run.run_id, rows.kind),
        rows.event_payload,
    )


def _release(tenant: str, row: Mapping[str, Any], document: bytes | None) -> Release:
    keys = None if row["key"] is None else ReleaseKey(row["key"], row["seed"])
    return Release(
        tenant=tenant,
        release_id=row["release_id"],
        run_id=row["run_id"],
        generation=row["generation"],
        outcome=row["outcome"],
        workspace_id=row["workspace_id"],
        principal=row["principal"],
        cut_sequence=row["cut_sequence"],
        decided_at=row["decided_at"],
        language=row["language"],
        request=_request(row["request"]),
        receipt_sha256=row["receipt_sha256"],
        receipt=row["receipt"],
        public_key=row["public_key"],
        signature=row["signature"],
        keys=keys,
        document=document,
    )


def _request(value: object) -> ReleaseRequest:
    try:
        return _REQUEST.validate_python(value)
    except ValidationError as error:
        message = "a sealed request is malformed"
        raise SealedRowDamaged(message) from error
