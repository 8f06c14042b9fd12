"""The sealed record in PostgreSQL: inserted once, whole, in the caller's transaction; then read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter, ValidationError

from chancery.attest.sealing import ReleaseKey
from chancery.authority.release import ReleaseRequest
from chancery.events.topology import release_subject
from chancery.release.domain.releases import Release, unsealed
from chancery.release.domain.sealing import SealedRows
from chancery.release.errors import SealedRowDamaged
from chancery.store.pool import Connection, Pool, translate_errors
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.release")
_INSERT_RELEASE = _QUERIES["insert_release"]
_INSERT_CHILDREN = _QUERIES["insert_children"]
_READ_RELEASE = _QUERIES["read_release"]
_READ_CONTENT = _QUERIES["read_content"]

_REQUEST: Final = TypeAdapter(ReleaseRequest)


@dataclass(frozen=True, slots=True)
class Releases:
    """Reads the sealed record."""

    pool: Pool

    async def read(self, tenant: str, run_id: str, generation: int) -> Release | None:
        """Return the release of a run's generation, or None."""
        with translate_errors():
            row = await self.pool.fetchrow(_READ_RELEASE, tenant, run_id, generation)
        if row is None:
            return None
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
        )

    async def contents(self, release: Release, *kinds: str) -> dict[str, bytes]:
        """Return the exact bytes of these content rows of a release.

        Raises:
            SealedRowDamaged: one is missing, or the keys were erased.
            SealBroken: one was altered or moved.
        """
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


async def insert_release(connection: Connection, rows: SealedRows) -> None:
    """Insert a release with everything that belongs to it and end its run; the caller commits."""
    draft, decided = rows.draft, rows.decided
    run = draft.run
    kind = "sealed" if draft.outcome is None else "refused"
    citations = draft.answer.citations
    await connection.execute(
        _INSERT_RELEASE,
        run.tenant,
        draft.release_id,
        run.run_id,
        run.generation,
        kind,
        draft.outcome,
        run.workspace_id,
        run.principal,
        0 if decided.cut is None else decided.cut.sequence,
        decided.decided_at,
        draft.language,
        _REQUEST.dump_python(draft.request, mode="json"),
        len(citations),
        len(draft.answer.cards),
    )
    await connection.execute(
        _INSERT_CHILDREN,
        run.tenant,
        draft.release_id,
        run.run_id,
        *_read_set_arguments(rows),
        *_citation_arguments(rows),
        list(range(1, len(draft.answer.cards) + 1)),
        [card.id for card in draft.answer.cards],
        [card.citation for card in draft.answer.cards],
        [row.kind for row in rows.contents],
        [row.number for row in rows.contents],
        [row.ciphertext for row in rows.contents],
        rows.receipt_sha256,
        rows.receipt_bytes,
        rows.public_key,
        rows.signature,
        rows.keys.key,
        rows.keys.salt,
        rows.frame_number,
        run.generation,
        kind,
        draft.detail,
        rows.event.id,
        release_subject(run.tenant, run.run_id, kind),
        rows.event_payload,
    )


def _read_set_arguments(rows: SealedRows) -> list[object]:
    entries = rows.decided.read_set
    return [
        [entry.kind for entry in entries],
        [entry.id for entry in entries],
        [entry.sequence for entry in entries],
    ]


def _citation_arguments(rows: SealedRows) -> list[object]:
    citations = rows.draft.answer.citations
    used = {each.name: each for each in rows.draft.core.references}
    names = [each.document for each in citations]
    return [
        list(range(1, len(citations) + 1)),
        [each.id for each in citations],
        [each.kind for each in citations],
        [kind for kind, _, _ in names],
        [used[name].key for name in names],
        [number for _, _, number in names],
    ]


def _request(value: object) -> ReleaseRequest:
    try:
        return _REQUEST.validate_python(value)
    except ValidationError as error:
        message = "a sealed request is malformed"
        raise SealedRowDamaged(message) from error
