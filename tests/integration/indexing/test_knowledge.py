"""Items and files reach the index as sources do: an item as its complete view, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chancery.events.authority_knowledge import (
    DraftSaved,
    EvidenceRoot,
    FileDeleted,
    FileUploaded,
    ItemWithdrawn,
    VersionPublished,
    evidence_hash,
)
from chancery.events.codec import decode
from chancery.events.envelope import Event, EventData
from chancery.events.index import RevisionExtracted
from chancery.evidence.knowledge import KnowledgeManifest, check_body
from chancery.evidence.manifest import Manifest
from chancery.indexing.app import Worker
from chancery.indexing.domain.history import ResourceRef
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import resource_key
from tests.integration.indexing.harness import Log

pytestmark = pytest.mark.integration

ITEM = ResourceRef("acme", "item", resource_key("w", "item", "refunds"))
FILE = ResourceRef("acme", "file", "file-1")
ROOT = EvidenceRoot(
    kind="source", key="key-1", id="handbook", revision=2, content_sha256=sha256_hex(b"handbook")
)
BODY = "# Refunds\n\n" + "They are paid within 14 days.\n" * 300


def draft(body: str, number: int) -> DraftSaved:
    """Return the draft that version `number` is made of."""
    return DraftSaved(
        draft_id=f"draft-{number}",
        workspace_id="w",
        item_id="refunds",
        visibility="workspace",
        declarer="ada",
        native_workspace_id="w",
        native_item_id="refunds",
        title="Refunds",
        kind="procedure",
        domain="finance",
        tags=("customer",),
        author="ada",
        content_sha256=sha256_hex(body.encode()),
        size_bytes=len(body.encode()),
        evidence=(ROOT,),
        evidence_sha256=evidence_hash((ROOT,)),
    )


def version(of: DraftSaved, number: int) -> VersionPublished:
    """Return the publication of a draft."""
    kept = of.model_dump(exclude={"workspace_id", "item_id", "visibility", "declarer"})
    return VersionPublished(
        **kept,
        version=number,
        version_id=f"version-{number}",
        operation_id=f"operation-{number}",
        native_version_id=f"version-{number}",
        committed_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


async def publish(log: Log, body: str, number: int = 1) -> Event:
    """Store a body and record its draft and version."""
    await log.blobs.put("acme", body.encode())
    saved = draft(body, number)
    await log.record(ITEM, saved)
    return await log.record(ITEM, version(saved, number))


async def handle(log: Log, worker: Worker, ref: ResourceRef, data: EventData | Event) -> None:
    """Record an event and hand it to the worker."""
    event = data if isinstance(data, Event) else await log.record(ref, data)
    await worker.handle(event, await log.delivery(ref))


@pytest.mark.req("CR-8", "CR-2")
async def test_a_version_becomes_its_complete_view(log: Log, worker: Worker) -> None:
    await handle(log, worker, ITEM, await publish(log, BODY))

    assert await log.told(ITEM) == ["pending 1", "extracted 1", "ready 1"]
    told = decode((await log.index(ITEM))[1].payload).data
    assert isinstance(told, RevisionExtracted)
    stored = await log.blobs.get("acme", told.manifest_sha256, limit=10**6)
    view = KnowledgeManifest.from_bytes(stored)
    check_body(view, (await log.blobs.get("acme", told.extraction_sha256, limit=10**6)).decode())
    assert (view.pin.version_id, view.pin.operation_id) == ("version-1", "operation-1")
    assert [root.id for root in view.pin.roots] == ["handbook"]
    assert view.pin.evidence_sha256 == evidence_hash((ROOT,))
    assert (view.title, view.tags, len(view.parts)) == ("Refunds", ("customer",), 2)


@pytest.mark.req("CL-1", "CL-4")
async def test_a_newer_version_supersedes_and_a_withdrawal_excludes(
    log: Log, worker: Worker
) -> None:
    await handle(log, worker, ITEM, await publish(log, BODY))
    await handle(log, worker, ITEM, await publish(log, BODY + "More.\n", 2))
    await handle(log, worker, ITEM, ItemWithdrawn())

    told = await log.told(ITEM)
    assert told[-1] == "excluded 2 withdrawn"
    assert "excluded 1 superseded" in told
    assert "ready 2" in told


@pytest.mark.req("KO-3", "CL-4")
async def test_a_private_file_is_extracted_and_leaves_with_its_deletion(
    log: Log, worker: Worker
) -> None:
    content = await log.blobs.put("acme", BODY.encode())
    uploaded = FileUploaded(
        file_id="file-1",
        owner="ada",
        title="note.md",
        content_sha256=content,
        media_type="text/markdown",
        size_bytes=len(BODY),
    )
    await handle(log, worker, FILE, uploaded)
    told = decode((await log.index(FILE))[0].payload).data
    await handle(log, worker, FILE, FileDeleted())

    assert isinstance(told, RevisionExtracted)
    assert told.workspace_id == "ada"
    stored = await log.blobs.get("acme", told.manifest_sha256, limit=10**6)
    assert Manifest.from_bytes(stored).key == "file-1"
    assert await log.told(FILE) == ["extracted 1", "ready 1", "excluded 1 withdrawn"]
