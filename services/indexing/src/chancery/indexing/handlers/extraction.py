"""From the raw bytes of a revision to its canonical form, both of them blobs.

Every blob is on disk before its outcome is returned, so before an event can name it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from chancery.authority.states import DatasetState, ItemState
from chancery.evidence.manifest import DatasetManifest, Manifest, build_manifest
from chancery.extract.extraction import Extraction as ReadDocument
from chancery.extract.items import view_of
from chancery.extract.media import PARSED_TYPES, RAW_TYPES, bare
from chancery.extract.refusals import TakesLong
from chancery.indexing.domain.cards import build_cards, check_policy
from chancery.indexing.domain.history import History, Publication, ResourceRef
from chancery.indexing.domain.standing import (
    Extracted,
    Form,
    Outcome,
    Revision,
    failed,
    has_same_rows,
    wanted_extractor,
)
from chancery.indexing.handlers.fairly import Fairly
from chancery.indexing.handlers.room import Room
from chancery.indexing.ports import Converter, DocumentReader
from chancery.kernel.errors import Corrupt, Rejected
from chancery.store.blobs import Blobs
from chancery.tabular.schema import Column, ColumnDeclaration, TableSchema, column_of

MANIFEST_BYTES_MAX = 16 * 1024 * 1024
"""The largest manifest: a text of 16 MiB has some 3,500 parts of 200 bytes each."""

Lack: TypeAlias = Literal["form", "layout"]

SHORT_CHARACTERS = 256 * 1024
"""A text up to this is cut within a millisecond; a thread costs more than it spares."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Extracts revisions; a file that allows no canonical form is an outcome, not an error."""

    blobs: Blobs
    reader: DocumentReader
    converter: Converter
    room: Room = field(default_factory=Room)
    conversions: Fairly = field(default_factory=Fairly)

    async def run(
        self, ref: ResourceRef, history: History, revision: Revision, *, is_brief: bool = False
    ) -> Outcome:
        """Return what came of extracting `revision` as `history` wants it now.

        Raises:
            TakesLong: a document needs more time than others should wait, or too many snapshots
                wait already, when `is_brief`.
            Unavailable: when blobs or workers are away; try again later.
        """
        identity = wanted_extractor(ref, history, revision.publication)
        try:
            match ref.kind:
                case "source" | "file":
                    result = await self._document(ref, revision, is_brief=is_brief)
                case "dataset":
                    result = await self._snapshot(ref, history, revision, is_brief=is_brief)
                case "item":
                    result = await self._version(ref, history, revision)
        except TakesLong:
            raise
        except (Rejected, Corrupt) as error:
            return Outcome(identity, failed(ref, revision, identity, error))
        return Outcome(identity, result)

    def is_quick(self, ref: ResourceRef, publication: Publication) -> bool:
        """Tell whether extracting takes no longer than saying that it is pending."""
        if ref.kind not in {"source", "file"} or publication.size_bytes > SHORT_CHARACTERS:
            return False
        return bare(publication.media_type) in RAW_TYPES

    def is_parsed(self, ref: ResourceRef, publication: Publication) -> bool:
        """Tell whether a parser reads it, which may take long."""
        return ref.kind in {"source", "file"} and bare(publication.media_type) in PARSED_TYPES

    async def lack(self, form: Form) -> Lack | None:
        """Return what of a canonical form is not in the blob store: it, its layout, or nothing.

        All of it is read: what is there damaged is not there, and would be found by no search.
        """
        tenant, extracted = form.ref.tenant, form.extracted
        for each in (extracted.extraction_sha256, extracted.manifest_sha256):
            if not await self.blobs.is_intact(tenant, each):
                return "form"
        layout_sha256 = await self._layout(form)
        if layout_sha256 is None or await self.blobs.is_intact(tenant, layout_sha256):
            return None
        return "layout"

    async def _layout(self, form: Form) -> str | None:
        """Return what the manifest names as its layout; one that nobody can read names none."""
        if form.ref.kind not in {"source", "file"}:
            return None
        try:
            data = await self.blobs.get(
                form.ref.tenant, form.extracted.manifest_sha256, limit=MANIFEST_BYTES_MAX
            )
            manifest = await asyncio.to_thread(Manifest.from_bytes, data)
        except (Rejected, Corrupt):
            return None
        return manifest.layout_sha256

    async def _document(self, ref: ResourceRef, revision: Revision, *, is_brief: bool) -> Extracted:
        publication = revision.publication
        async with self.room.taking(publication.size_bytes):
            data = await self._content(ref, revision)
            found = await self.reader.extract(publication.media_type, data, is_brief=is_brief)
            layout_sha256 = None
            if found.layout is not None:
                layout_sha256 = await self.blobs.put(ref.tenant, found.layout)
            about = (ref, publication, found, layout_sha256)
            if len(found.text) <= SHORT_CHARACTERS:
                manifest = _manifest(*about)
            else:
                manifest = await asyncio.to_thread(_manifest, *about)
            return await self._kept(ref, found, manifest)

    async def _version(self, ref: ResourceRef, history: History, revision: Revision) -> Extracted:
        """Make the complete view of an item's version; one that is too long is refused whole."""
        publication = revision.publication
        assert isinstance(history.state, ItemState), "the kind says that it is an item"
        async with self.room.taking(publication.size_bytes):
            data = await self._content(ref, revision)
            found = await self.reader.extract(publication.media_type, data)
            view = await asyncio.to_thread(
                view_of,
                ref.key,
                history.state,
                publication.revision,
                found.text,
                extractor=found.extractor,
            )
            if view.body_sha256 != publication.content_sha256:
                await self.blobs.put(ref.tenant, found.text.encode())
            manifest_sha256 = await self.blobs.put(ref.tenant, view.to_bytes())
            return Extracted(view.body_sha256, manifest_sha256, view.length)

    async def _kept(self, ref: ResourceRef, found: ReadDocument, manifest: Manifest) -> Extracted:
        """Store text and manifest; a text that is its own content is on disk already."""
        if manifest.extraction_sha256 != manifest.content_sha256:
            await self.blobs.put(ref.tenant, found.text.encode())
        manifest_sha256 = await self.blobs.put(ref.tenant, manifest.to_bytes())
        return Extracted(manifest.extraction_sha256, manifest_sha256, manifest.length)

    async def _snapshot(
        self, ref: ResourceRef, history: History, revision: Revision, *, is_brief: bool
    ) -> Extracted:
        assert isinstance(history.state, DatasetState), "the kind says that it is a dataset"
        identity = wanted_extractor(ref, history, revision.publication)
        rows = await self._known_rows(ref, revision, identity)
        rows = rows or await self._converted(ref, history, revision, is_brief=is_brief)
        check_policy(history.state, rows.columns)
        table = TableSchema(history.state.dataset_id, rows.columns)
        cards = await asyncio.to_thread(build_cards, table, history.state.measures)
        manifest = DatasetManifest(
            key=ref.key,
            snapshot=revision.publication.revision,
            content_sha256=revision.publication.content_sha256,
            extraction_sha256=rows.parquet_sha256,
            extractor=identity,
            rows=rows.count,
            columns=tuple((each.name, each.duckdb_type) for each in rows.columns),
            cards=cards,
        )
        manifest_sha256 = await self.blobs.put(ref.tenant, manifest.to_bytes())
        return Extracted(rows.parquet_sha256, manifest_sha256, rows.count)

    async def _known_rows(
        self, ref: ResourceRef, revision: Revision, identity: str
    ) -> _Rows | None:
        """Return the Parquet of an earlier declaration when only the measures are other ones.

        Whatever is wrong with it or its manifest, the file itself can be converted again.
        """
        known = revision.outcome
        if known is None or not isinstance(known.result, Extracted):
            return None
        if not has_same_rows(known.extractor, identity):
            return None
        try:
            data = await self.blobs.get(
                ref.tenant, known.result.manifest_sha256, limit=MANIFEST_BYTES_MAX
            )
            manifest = DatasetManifest.from_bytes(data)
        except (Rejected, Corrupt):
            return None
        if not await self.blobs.is_intact(ref.tenant, manifest.extraction_sha256):
            return None
        columns = tuple(column_of(name, type_) for name, type_ in manifest.columns)
        return _Rows(manifest.extraction_sha256, columns, manifest.rows)

    async def _converted(
        self, ref: ResourceRef, history: History, revision: Revision, *, is_brief: bool
    ) -> _Rows:
        types = history.declaration.column_types
        declared = {name: ColumnDeclaration(type=type_) for name, type_ in types.items()}
        async with self.conversions.turn(ref.tenant, is_brief=is_brief):
            data = await self._content(ref, revision)
            snapshot = await self.converter.convert(
                data, declared, media_type=revision.publication.media_type
            )
        parquet_sha256 = await self.blobs.put(ref.tenant, snapshot.parquet)
        return _Rows(parquet_sha256, snapshot.columns, snapshot.row_count)

    async def _content(self, ref: ResourceRef, revision: Revision) -> bytes:
        publication = revision.publication
        return await self.blobs.get(
            ref.tenant, publication.content_sha256, limit=publication.size_bytes
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    parquet_sha256: str
    columns: tuple[Column, ...]
    count: int


def _manifest(
    ref: ResourceRef, publication: Publication, found: ReadDocument, layout_sha256: str | None
) -> Manifest:
    """Return the manifest of what was read; long texts take a while."""
    return build_manifest(
        ref.key,
        publication.revision,
        content_sha256=publication.content_sha256,
        extractor=found.extractor,
        text=found.text,
        pages=found.pages,
        layout_sha256=layout_sha256,
    )
