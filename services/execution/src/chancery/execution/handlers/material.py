"""Reading what a run may use, by the hashes that its admission pins."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chancery.events.run import GatheredMeasure, GatheredPassage, RunAdmitted, RunGathered
from chancery.evidence.manifest import DatasetManifest
from chancery.evidence.scope import Scope, ScopeEntry
from chancery.execution.domain.tables import Restricted, table_of
from chancery.execution.errors import UnreadableMaterial
from chancery.execution.ports import OfferedMeasure, Passage, Question
from chancery.store.blobs import Blobs
from chancery.tabular.jobs import Table

QUESTION_BYTES_MAX = 64 * 1024
SCOPE_BYTES_MAX = 4 * 1024 * 1024
TEXT_BYTES_MAX = 64 * 1024 * 1024
MANIFEST_BYTES_MAX = 16 * 1024 * 1024
PARQUET_BYTES_MAX = 256 * 1024 * 1024

PAGED_MEDIA_TYPES = frozenset({"application/pdf"})
"""Documents whose text comes from pages."""

DECODED_HERE_BYTES = 256 * 1024
"""Up to here, decoding a text takes less time than handing it to a thread."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run as its admission describes it."""

    tenant: str
    admitted: RunAdmitted
    question: Question
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads cases, passages, measures and tables from blobs; each is verified by its hash."""

    blobs: Blobs

    async def case(self, tenant: str, admitted: RunAdmitted) -> Case:
        """Return the run's question and scope.

        Raises:
            Corrupt: when a blob has its hash but not its form.
        """
        run_id = admitted.run_id
        question, scope = await asyncio.gather(
            self.blobs.get_run(tenant, run_id, admitted.question_sha256, limit=QUESTION_BYTES_MAX),
            self.blobs.get_run(tenant, run_id, admitted.scope_sha256, limit=SCOPE_BYTES_MAX),
        )
        return Case(
            tenant=tenant,
            admitted=admitted,
            question=Question(_text(question), admitted.language, admitted.bounds),
            scope=Scope.from_bytes(scope),
        )

    async def passages(self, case: Case, gathered: RunGathered) -> tuple[Passage, ...]:
        """Return the gathered passages that lie inside the admitted scope, best first."""
        found: list[Passage] = []
        texts: dict[str, str] = {}
        for passage in gathered.passages:
            entry = case.scope.entry("source", passage.key)
            sha256 = _pinned_text(entry, passage)
            if entry is None or sha256 is None:
                continue
            if sha256 not in texts:
                data = await self.blobs.get(case.tenant, sha256, limit=TEXT_BYTES_MAX)
                is_long = len(data) > DECODED_HERE_BYTES
                texts[sha256] = await asyncio.to_thread(_text, data) if is_long else _text(data)
            found.append(
                Passage(
                    key=passage.key,
                    revision=passage.revision,
                    part_id=passage.part_id,
                    span=(passage.start, passage.end),
                    text=texts[sha256],
                    is_paged=entry.media_type in PAGED_MEDIA_TYPES,
                )
            )
        return tuple(found)

    async def measures(self, case: Case, gathered: RunGathered) -> tuple[OfferedMeasure, ...]:
        """Return the gathered measures of datasets inside the admitted scope, best first."""
        found: list[OfferedMeasure] = []
        for measure in gathered.measures:
            entry = case.scope.entry("dataset", measure.key)
            if entry is None or not _is_pinned(entry, measure):
                continue
            if measure.name in entry.hidden_measures:
                continue
            manifest = await self.manifest(case.tenant, measure.manifest_sha256)
            card = manifest.card(measure.name)
            if card is not None:
                found.append(OfferedMeasure(measure.key, measure.snapshot, card))
        return tuple(found)

    async def manifest(self, tenant: str, sha256: str) -> DatasetManifest:
        """Return the manifest of a snapshot."""
        data = await self.blobs.get(tenant, sha256, limit=MANIFEST_BYTES_MAX)
        return DatasetManifest.from_bytes(data)

    async def table(
        self, tenant: str, pinned: Restricted, *, extraction_sha256: str, manifest_sha256: str
    ) -> Table:
        """Return a snapshot with only what the caller may read of it."""
        manifest = await self.manifest(tenant, manifest_sha256)
        parquet = await self.blobs.get(tenant, extraction_sha256, limit=PARQUET_BYTES_MAX)
        return table_of(pinned, manifest, parquet)


def _pinned_text(entry: ScopeEntry | None, passage: GatheredPassage) -> str | None:
    """Return the text's hash when the passage is of the pinned extraction, else None."""
    if entry is None or entry.revision != passage.revision:
        return None
    return entry.extraction_sha256 if entry.extraction_sha256 == passage.extraction_sha256 else None


def _is_pinned(entry: ScopeEntry, measure: GatheredMeasure) -> bool:
    return (entry.revision, entry.manifest_sha256) == (measure.snapshot, measure.manifest_sha256)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = "a canonical text is not UTF-8"
        raise UnreadableMaterial(message) from error
