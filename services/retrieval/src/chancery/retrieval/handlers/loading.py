"""The entries of a revision, from the blobs that its pin names."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chancery.evidence.knowledge import KnowledgeManifest
from chancery.evidence.manifest import DatasetManifest, Manifest
from chancery.kernel.errors import Corrupt
from chancery.retrieval.domain.entries import Entry, Pin, card_entries, text_entries
from chancery.store.blobs import Blobs

BLOB_BYTES_MAX = 64 * 1024 * 1024
"""The largest text or manifest that is indexed; an upload is at most 16 MiB."""

SHORT_BYTES = 32 * 1024
"""Texts up to this are cut in a few milliseconds."""


class ForeignManifest(Corrupt):
    """The manifest is one of another revision or extraction than the event says."""

    code = "foreign_manifest"


@dataclass(frozen=True, slots=True)
class Loading:
    """Reads and verifies what a pin names."""

    blobs: Blobs

    async def entries(self, tenant: str, pin: Pin) -> tuple[Entry, ...]:
        """Return the entries of `pin`; every byte has the hash that the pin rests on.

        Raises:
            Rejected, Corrupt: a blob is missing, altered or not what the event says.
            Unavailable: the blob store is away.
        """
        data = await self.blobs.get(tenant, pin.manifest_sha256, limit=BLOB_BYTES_MAX)
        match pin.ref.kind:
            case "dataset":
                cards = DatasetManifest.from_pinned(data)
                _check(pin, cards.key, cards.snapshot, cards.extraction_sha256)
                return card_entries(cards)
            case "source" | "file":
                return await self._text(tenant, pin, Manifest.from_pinned(data))
            case "item":
                return await self._text(tenant, pin, KnowledgeManifest.from_pinned(data).as_text())

    async def _text(self, tenant: str, pin: Pin, parts: Manifest) -> tuple[Entry, ...]:
        _check(pin, parts.key, parts.revision, parts.extraction_sha256)
        text = await self.blobs.get(tenant, pin.extraction_sha256, limit=BLOB_BYTES_MAX)
        if len(text) <= SHORT_BYTES:
            return text_entries(parts, _decoded(text))
        return await asyncio.to_thread(lambda: text_entries(parts, _decoded(text)))


def _check(pin: Pin, key: str, revision: int, extraction_sha256: str) -> None:
    expected = (pin.ref.key, pin.ref.revision, pin.extraction_sha256)
    if (key, revision, extraction_sha256) != expected:
        message = f"the manifest {pin.manifest_sha256} is not the one of its revision"
        raise ForeignManifest(message)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = "the canonical text is not UTF-8"
        raise Corrupt(message, code="invalid_utf8") from error
