"""Evidence from blobs, by the hashes that release itself pinned; each byte is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.events.run import ProposedQuote, ProposedValue
from chancery.evidence.bundle import ROWS_BYTES_MAX
from chancery.evidence.knowledge import KnowledgeManifest, check_body
from chancery.evidence.manifest import DatasetManifest, Manifest, check_text
from chancery.evidence.scope import Scope, ScopeEntry
from chancery.kernel.errors import Corrupt, NotFound, Unavailable
from chancery.release.adapters.remembered import Remembered
from chancery.release.domain.documents import Document
from chancery.release.domain.recorded import Query
from chancery.release.domain.selection import Evidence, Pin, Selection, query_name
from chancery.release.errors import InvalidSelection
from chancery.store.blobs import Blobs

SCOPE_BYTES_MAX = 4 * 1024 * 1024
TEXT_BYTES_MAX = 64 * 1024 * 1024
MANIFEST_BYTES_MAX = 16 * 1024 * 1024
SQL_BYTES_MAX = 8 * 1024
PREVIEW_BYTES_MAX = 1024 * 1024
QUESTION_BYTES_MAX = 64 * 1024
RUN_BLOB_BYTES_MAX = ROWS_BYTES_MAX + 1024 * 1024

SCOPES_BYTES_MAX = 2 * 1024 * 1024
DOCUMENTS_BYTES_MAX = 8 * 1024 * 1024
"""How much of what was read and checked is remembered for a moment."""


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """Reads what a run rests on; `blobs` never hands over bytes that do not have their hash."""

    blobs: Blobs
    _scopes: Remembered[tuple[str, str, str], Scope] = field(
        default_factory=lambda: Remembered(SCOPES_BYTES_MAX)
    )
    _documents: Remembered[tuple[str, Pin], Document] = field(
        default_factory=lambda: Remembered(DOCUMENTS_BYTES_MAX)
    )

    async def put_scope(self, tenant: str, run_id: str, scope: Scope) -> str:
        """Store the scope of a run and return its hash."""
        data = scope.to_bytes()
        sha256 = await self.blobs.put_run(tenant, run_id, data)
        self._scopes.keep((tenant, run_id, sha256), scope, len(data))
        return sha256

    async def scope(self, tenant: str, run_id: str, sha256: str) -> Scope:
        """Return the scope that release admitted."""
        place = (tenant, run_id, sha256)
        found = self._scopes.get(place)
        if found is None:
            data = await self.blobs.get_run(tenant, run_id, sha256, limit=SCOPE_BYTES_MAX)
            found = Scope.from_bytes(data)
            self._scopes.keep(place, found, len(data))
        return found

    async def question(self, tenant: str, run_id: str, sha256: str) -> str:
        """Return the text of a question."""
        data = await self.blobs.get_run(tenant, run_id, sha256, limit=QUESTION_BYTES_MAX)
        return _text(data)

    async def load(
        self, tenant: str, run_id: str, used: Sequence[tuple[Selection, ScopeEntry]]
    ) -> Evidence:
        """Return the documents and queries that a selection names.

        Raises:
            InvalidSelection: the selection names a query or preview that the run does not have.
            Unavailable: a pinned extraction is not there (now).
            Corrupt: stored bytes do not verify.
        """
        quoted = {entry.key: entry for item, entry in used if isinstance(item, ProposedQuote)}
        valued = {
            query_name(item): (item, entry)
            for item, entry in used
            if isinstance(item, ProposedValue)
        }
        pins = {key: pinned_of(entry) for key, entry in quoted.items()}
        known = {key: self._documents.get((tenant, pin)) for key, pin in pins.items()}
        missing = [key for key, document in known.items() if document is None]
        read, queries = await asyncio.gather(
            asyncio.gather(*(self.document(tenant, pins[key]) for key in missing)),
            asyncio.gather(
                *(self._query(tenant, run_id, item, entry) for item, entry in valued.values())
            ),
        )
        documents = {key: document for key, document in known.items() if document is not None}
        documents |= dict(zip(missing, read, strict=True))
        return Evidence(documents, dict(zip(valued, queries, strict=True)))

    async def document(self, tenant: str, pin: Pin) -> Document:
        """Return the pinned text and manifest of a source, item or file."""
        place = (tenant, pin)
        found = self._documents.get(place)
        if found is None:
            found, size = await self._read_document(tenant, pin)
            self._documents.keep(place, found, size)
        return found

    async def _read_document(self, tenant: str, pin: Pin) -> tuple[Document, int]:
        manifest_bytes, text_bytes = await asyncio.gather(
            self._pinned(tenant, pin.manifest_sha256), self._pinned(tenant, pin.extraction_sha256)
        )
        form = KnowledgeManifest if pin.kind == "item" else Manifest
        document = Document(form.from_bytes(manifest_bytes), _text(text_bytes))
        parts = document.parts
        if (parts.key, parts.extraction_sha256) != (pin.key, pin.extraction_sha256):
            message = "the pinned manifest belongs to another extraction"
            raise Corrupt(message, code="altered_text")
        if isinstance(document.manifest, KnowledgeManifest):
            check_body(document.manifest, document.text)
        else:
            check_text(parts, document.text)
        return document, len(manifest_bytes) + len(text_bytes)

    async def dataset_manifest(self, tenant: str, pin: Pin) -> DatasetManifest:
        """Return the pinned manifest of a dataset."""
        manifest = DatasetManifest.from_bytes(await self._pinned(tenant, pin.manifest_sha256))
        if (manifest.key, manifest.extraction_sha256) != (pin.key, pin.extraction_sha256):
            message = "the pinned manifest belongs to another snapshot"
            raise Corrupt(message, code="altered_text")
        return manifest

    async def run_blob(self, tenant: str, run_id: str, sha256: str) -> bytes | None:
        """Return a blob that the run derived, or None when it is not there."""
        try:
            return await self.blobs.get_run(tenant, run_id, sha256, limit=RUN_BLOB_BYTES_MAX)
        except NotFound:
            return None

    async def _query(
        self, tenant: str, run_id: str, item: ProposedValue, entry: ScopeEntry
    ) -> Query:
        manifest = await self.dataset_manifest(tenant, pinned_of(entry))
        try:
            sql, preview = await asyncio.gather(
                self.blobs.get_run(tenant, run_id, item.query_sha256, limit=SQL_BYTES_MAX),
                self.blobs.get_run(tenant, run_id, item.preview_sha256, limit=PREVIEW_BYTES_MAX),
            )
        except NotFound as error:
            message = "the proposal names a query or preview that was not recorded"
            raise InvalidSelection(message, code="preview_missing") from error
        return Query(manifest, _text(sql), preview)

    async def _pinned(self, tenant: str, sha256: str) -> bytes:
        try:
            return await self.blobs.get(tenant, sha256, limit=TEXT_BYTES_MAX)
        except NotFound as error:
            message = "a pinned extraction is not in the blob store"
            raise Unavailable(message, code="evidence_missing") from error


def pinned_of(entry: ScopeEntry) -> Pin:
    """Return the pin of an entry that has one."""
    assert entry.extraction_sha256 is not None
    assert entry.manifest_sha256 is not None
    return Pin(entry.kind, entry.key, entry.extraction_sha256, entry.manifest_sha256)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = "a stored text is not UTF-8"
        raise Corrupt(message, code="altered_text") from error
