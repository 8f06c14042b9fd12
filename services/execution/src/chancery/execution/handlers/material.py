"""Reading what a run may use, by the hashes that its admission pins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from chancery.events.run import GatheredMeasure, GatheredPassage, RunAdmitted, RunGathered
from chancery.evidence.manifest import DatasetManifest
from chancery.evidence.scope import Scope, ScopeEntry
from chancery.execution.domain.tables import Restricted, table_of
from chancery.execution.errors import InputTooLarge, UnreadableMaterial
from chancery.execution.handlers.budget import Budget
from chancery.execution.handlers.cuts import Cuts, cut_key
from chancery.execution.ports import OfferedMeasure, Passage, Question
from chancery.kernel.errors import TooLarge
from chancery.runtime.logging import get_logger
from chancery.store.blobs import Blobs, BlobTooLarge
from chancery.tabular.jobs import Table, Uncut

QUESTION_BYTES_MAX = 64 * 1024
SCOPE_BYTES_MAX = 4 * 1024 * 1024
MANIFEST_BYTES_MAX = 16 * 1024 * 1024

TEXT_BYTES_MAX = 64 * 1024 * 1024
"""The texts that one run reads, at most; those of all runs take four times that."""

SMALL_BYTES_MAX = 8 * 1024 * 1024
LARGE_BYTES_MAX = 256 * 1024 * 1024
"""The snapshots of one statement, at most; the large ones of all statements take twice that.

While one is cut, it and its cut share these bytes. Small ones have a budget of their own: they are
many, and do not wait for a large one.
"""

PAGED_MEDIA_TYPES = frozenset({"application/pdf"})
"""Documents whose text comes from pages."""

DECODED_HERE_BYTES = 256 * 1024
"""Up to here, decoding a text takes less time than handing it to a thread."""


_log = get_logger("chancery.execution")


@dataclass(frozen=True, slots=True)
class Budgets:
    """The bytes that all runs and statements of this process may hold at a time."""

    texts: Budget = field(default_factory=lambda: Budget(4 * TEXT_BYTES_MAX, TEXT_BYTES_MAX))
    small: Budget = field(default_factory=lambda: Budget(16 * SMALL_BYTES_MAX, SMALL_BYTES_MAX))
    large: Budget = field(default_factory=lambda: Budget(2 * LARGE_BYTES_MAX, LARGE_BYTES_MAX))


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """A snapshot with its restrictions and the hashes of what is read of it."""

    restricted: Restricted
    extraction_sha256: str
    manifest_sha256: str


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
    cuts: Cuts
    budgets: Budgets = field(default_factory=Budgets)

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

    @asynccontextmanager
    async def passages(
        self, case: Case, gathered: RunGathered
    ) -> AsyncGenerator[tuple[Passage, ...]]:
        """Hold the gathered passages that lie inside the admitted scope, best first.

        Those whose texts no longer fit into what a run may read are left out.
        """
        async with self.budgets.texts.share() as share:
            texts = await self._texts(case, gathered, share.size_bytes)
            share.shrink(sum(size_bytes for _, size_bytes in texts.values()))
            yield _passages(case, gathered, {sha: text for sha, (text, _) in texts.items()})

    async def _texts(
        self, case: Case, gathered: RunGathered, left_bytes: int
    ) -> dict[str, tuple[str, int]]:
        """Return the texts that passages lie in, with their sizes, by hash."""
        texts: dict[str, tuple[str, int]] = {}
        for passage in gathered.passages:
            sha256 = _pinned_text(case.scope.document(passage.key), passage)
            if sha256 is None or sha256 in texts:
                continue
            try:
                data = await self.blobs.get(case.tenant, sha256, limit=left_bytes)
            except BlobTooLarge:
                _log.warning("a text was left out", run_id=case.admitted.run_id, sha256=sha256)
                continue
            is_long = len(data) > DECODED_HERE_BYTES
            text = await asyncio.to_thread(_text, data) if is_long else _text(data)
            texts[sha256] = text, len(data)
            left_bytes -= len(data)
        return texts

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

    @asynccontextmanager
    async def tables(
        self, tenant: str, pinned: Sequence[PinnedTable]
    ) -> AsyncGenerator[list[Table]]:
        """Hold snapshots, with only what the caller may read of them, within the budgets.

        Raises:
            InputTooLarge: when they hold more bytes than one statement may load.
        """
        async with AsyncExitStack() as stack:
            yield await self._tables_within(stack, tenant, pinned)

    async def _tables_within(
        self, stack: AsyncExitStack, tenant: str, pinned: Sequence[PinnedTable]
    ) -> list[Table]:
        for budget in (self.budgets.small, self.budgets.large):
            share = await stack.enter_async_context(budget.share())
            try:
                found = await self._tables(tenant, pinned, share.size_bytes)
            except TooLarge:
                share.shrink(0)
                continue
            share.shrink(sum(len(each.parquet) for each in found))
            return found
        message = f"the datasets of one statement may hold {LARGE_BYTES_MAX} bytes; name fewer"
        raise InputTooLarge(message, field="sql")

    async def _tables(
        self, tenant: str, pinned: Sequence[PinnedTable], left_bytes: int
    ) -> list[Table]:
        found: list[Table] = []
        for each in pinned:
            found.append(await self._table(tenant, each, left_bytes))
            left_bytes -= len(found[-1].parquet)
        return found

    async def _table(self, tenant: str, pinned: PinnedTable, left_bytes: int) -> Table:
        """Return a snapshot, or what policy leaves of it; that is all that goes on from here."""
        manifest = await self.manifest(tenant, pinned.manifest_sha256)
        sha256, policy = pinned.extraction_sha256, table_of(pinned.restricted, manifest, b"")
        if policy.is_whole:
            whole = await self.blobs.get(tenant, sha256, limit=left_bytes)
            return Table(policy.schema, whole, policy.declared)

        async def stored() -> Uncut:
            parquet = await self.blobs.get(tenant, sha256, limit=left_bytes // 2)
            return replace(policy, parquet=parquet)

        key = cut_key(tenant, sha256, policy)
        cut = await self.cuts.of(key, policy.schema, stored, bytes_max=left_bytes)
        return replace(cut, declared=policy.declared)


def _passages(case: Case, gathered: RunGathered, texts: Mapping[str, str]) -> tuple[Passage, ...]:
    found: list[Passage] = []
    for passage in gathered.passages:
        entry = case.scope.document(passage.key)
        text = texts.get(_pinned_text(entry, passage) or "")
        if entry is None or text is None:
            continue
        found.append(
            Passage(
                key=passage.key,
                revision=passage.revision,
                part_id=passage.part_id,
                span=(passage.start, passage.end),
                text=text,
                is_paged=entry.media_type in PAGED_MEDIA_TYPES,
            )
        )
    return tuple(found)


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
