"""Curated items and private files in the world: published, indexed and asked about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from chancery.authority.names import AggregateRef, file_ref, item_ref
from chancery.events.authority import Visibility
from chancery.events.authority_knowledge import (
    DraftSaved,
    EvidenceRoot,
    FileUploaded,
    VersionPublished,
    evidence_hash,
    ordered,
)
from chancery.events.commands import MessagePosted, PostMessage
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.events.run import RunRequested
from chancery.events.topology import command_subject
from chancery.evidence.knowledge import RootReference, VersionPin, VersionWords, build_view
from chancery.evidence.manifest import Manifest, build_manifest
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World


def roots_of(*sources: Published) -> tuple[EvidenceRoot, ...]:
    """Return these revisions as the evidence of a version."""
    return ordered(
        [
            EvidenceRoot(
                kind="source",
                key=each.ref.id,
                id=each.source_id,
                revision=each.revision,
                content_sha256=each.manifest.content_sha256,
            )
            for each in sources
        ]
    )


def draft_of(
    item_id: str,
    text: str,
    *sources: Published,
    visibility: Visibility = "restricted",
    declarer: str = "bert",
) -> DraftSaved:
    """Return a draft of `text` that rests on `sources`."""
    evidence = roots_of(*sources)
    return DraftSaved(
        workspace_id=WORKSPACE,
        item_id=item_id,
        draft_id=f"draft-{sha256_hex(text.encode())[:8]}",
        visibility=visibility,
        declarer=declarer,
        native_workspace_id=WORKSPACE,
        native_item_id=item_id,
        title=f"Title of {item_id}",
        kind="note",
        domain="legal",
        tags=("reviews",),
        author=declarer,
        content_sha256=sha256_hex(text.encode()),
        size_bytes=len(text.encode()),
        evidence=evidence,
        evidence_sha256=evidence_hash(evidence),
    )


def version_of(draft: DraftSaved, number: int) -> VersionPublished:
    """Return the publication of a draft under a commit of its own."""
    said = draft.model_dump(include=set(VersionPublished.model_fields))
    version_id = random_id()
    return VersionPublished.model_validate(
        {
            **said,
            "version": number,
            "version_id": version_id,
            "native_version_id": version_id,
            "operation_id": random_id(),
            "committed_at": datetime.now(UTC),
        }
    )


async def publish_item(world: World, draft: DraftSaved, text: str) -> Published:
    """Save a draft, publish it as version 1, and play indexing."""
    ref = item_ref(WORKSPACE, draft.item_id)
    await world.append(ref, draft)
    version = version_of(draft, 1)
    sequence = await world.append(ref, version)
    pin = VersionPin(
        item_key=ref.id,
        item_id=draft.item_id,
        workspace_id=WORKSPACE,
        native_item_id=version.native_item_id,
        native_workspace_id=version.native_workspace_id,
        version=1,
        version_id=version.version_id,
        native_version_id=version.native_version_id,
        operation_id=version.operation_id,
        content_sha256=version.content_sha256,
        evidence_sha256=version.evidence_sha256,
        roots=tuple(RootReference.model_validate(each.model_dump()) for each in version.evidence),
    )
    words = VersionWords(
        title=version.title,
        kind=version.kind,
        domain=version.domain,
        tags=version.tags,
        author=version.author,
        committed_at=version.committed_at,
    )
    view = build_view(pin, words, text, extractor="text/1")
    found = Published(ref, draft.item_id, 1, text, view.as_text())
    await _index(world, ref, found.manifest, view.to_bytes(), of=(WORKSPACE, sequence, text))
    return found


async def upload_file(world: World, file_id: str, text: str, *, owner: str) -> Published:
    """Upload a private file and play indexing."""
    ref = file_ref(file_id)
    content = sha256_hex(text.encode())
    uploaded = FileUploaded(
        file_id=file_id,
        owner=owner,
        title="Mine",
        content_sha256=content,
        media_type="text/plain",
        size_bytes=len(text.encode()),
    )
    sequence = await world.append(ref, uploaded)
    manifest = build_manifest(ref.id, 1, content_sha256=content, extractor="text/1", text=text)
    await _index(world, ref, manifest, manifest.to_bytes(), of=(owner, sequence, text))
    return Published(ref, file_id, 1, text, manifest)


async def _index(
    world: World, ref: AggregateRef, manifest: Manifest, stored: bytes, *, of: tuple[str, int, str]
) -> None:
    place, sequence, text = of
    await world.blobs.put(TENANT, text.encode())
    common = {
        "workspace_id": place,
        "kind": ref.kind,
        "key": ref.id,
        "revision": 1,
        "content_sha256": manifest.content_sha256,
        "authority_sequence": sequence,
        "extraction_sha256": manifest.extraction_sha256,
        "manifest_sha256": await world.blobs.put(TENANT, stored),
    }
    extracted = {**common, "extractor": "text/1", "length": manifest.length}
    await world.index(ref, RevisionExtracted.model_validate(extracted))
    await world.index(ref, RevisionReady.model_validate(common))


async def ask_about(
    world: World, *, items: Sequence[str] = (), files: Sequence[str] = (), who: str = "anna"
) -> str:
    """Ask about selected items and files; return the run's id."""
    run_id = random_id()
    question = await world.blobs.put_run(TENANT, run_id, b"Who owns reviews?")
    body = PostMessage(
        conversation_id=await world.converse(who),
        run_id=run_id,
        question_sha256=question,
        items=tuple(items),
        files=tuple(files),
    )
    subject = command_subject("release", "post-message")
    posted = await world.request(subject, body, MessagePosted, who=who)
    requested = RunRequested(
        run_id=run_id,
        workspace_id=posted.workspace_id,
        conversation_id=body.conversation_id,
        message=posted.message,
        credential_id=f"c-{who}",
        question_sha256=question,
        items=body.items,
        files=body.files,
        bounds=body.bounds,
        mode=body.mode,
    )
    await world.tell(run_id, "requested", requested, actor=who)
    return run_id
