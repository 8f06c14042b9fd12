"""Curated items, played over the bus: published as ingestion would, indexed as indexing would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef, item_ref
from chancery.authority.states import ItemState
from chancery.bus.publish import publish
from chancery.events.authority import Visibility
from chancery.events.authority_knowledge import (
    DraftSaved,
    EvidenceRoot,
    VersionPublished,
    evidence_hash,
    ordered,
)
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.evidence.knowledge import KnowledgeManifest
from chancery.extract.items import view_of
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import random_id
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of


@dataclass(frozen=True, slots=True)
class Version:
    """A version as it stands on the log, before the index has seen it."""

    ref: AggregateRef
    item_id: str
    number: int
    text: str
    state: ItemState
    sequence: int

    def view(self) -> KnowledgeManifest:
        """Return the manifest of its complete view."""
        return view_of(self.ref.id, self.state, self.number, self.text, extractor="text/1")


def root_of(source: Published) -> EvidenceRoot:
    """Return a published revision as evidence."""
    return EvidenceRoot(
        kind="source",
        key=source.ref.id,
        id=source.source_id,
        revision=source.revision,
        content_sha256=sha256_hex(source.text.encode()),
    )


async def commit(
    world: World,
    item_id: str,
    text: str,
    *,
    evidence: Sequence[Published] = (),
    visibility: Visibility = "workspace",
    before: Version | None = None,
    native: str | None = None,
) -> Version:
    """Append a draft and the version made of it; `native` is the id that it was committed under."""
    ref = item_ref(WORKSPACE, item_id)
    roots = ordered([root_of(each) for each in evidence])
    content = await world.blobs.put(TENANT, text.encode())
    described = {
        "draft_id": random_id(),
        "native_workspace_id": WORKSPACE,
        "native_item_id": item_id,
        "title": f"Title of {item_id}",
        "kind": "article",
        "domain": "general",
        "author": "bert",
        "content_sha256": content,
        "size_bytes": len(text.encode()),
        "evidence": roots,
        "evidence_sha256": evidence_hash(roots),
    }
    place = {
        "workspace_id": WORKSPACE,
        "item_id": item_id,
        "visibility": visibility,
        "declarer": "bert",
    }
    draft = DraftSaved.model_validate({**described, **place})
    number = 1 if before is None else before.number + 1
    event_id = random_id()
    version = VersionPublished.model_validate(
        {
            **described,
            "native_item_id": native or item_id,
            "version": number,
            "version_id": random_id(),
            "operation_id": event_id,
            "native_version_id": random_id(),
            "committed_at": SystemClock().now(),
        }
    )
    state = None if before is None else before.state
    await world.append(ref, draft)
    event = event_of(version, subject=ref.id)
    event = event.model_copy(
        update={"envelope": event.envelope.model_copy(update={"id": event_id})}
    )
    sequence = (await publish(world.bus, ref.subject(TENANT), event)).sequence
    for data in (draft, version):
        state = evolve("item", state, data)
    assert isinstance(state, ItemState)
    return Version(ref, item_id, number, text, state, sequence)


async def make_ready(
    world: World, version: Version, *, manifest: bytes | None = None, text: str | None = None
) -> Published:
    """Play indexing for a version, honestly or with another view."""
    view = version.view()
    shown = version.text if text is None else text
    extraction = await world.blobs.put(TENANT, shown.encode())
    common = {
        "workspace_id": WORKSPACE,
        "kind": "item",
        "key": version.ref.id,
        "revision": version.number,
        "content_sha256": sha256_hex(version.text.encode()),
        "authority_sequence": version.sequence,
        "extraction_sha256": extraction,
        "manifest_sha256": await world.blobs.put(TENANT, manifest or view.to_bytes()),
    }
    extracted = {**common, "extractor": "text/1", "length": len(shown)}
    await world.index(version.ref, RevisionExtracted.model_validate(extracted))
    await world.index(version.ref, RevisionReady.model_validate(common))
    parts = view.as_text().model_copy(update={"extraction_sha256": extraction})
    return Published(version.ref, version.item_id, version.number, version.text, parts)


async def publish_item(
    world: World,
    item_id: str,
    text: str,
    *,
    evidence: Sequence[Published] = (),
    visibility: Visibility = "workspace",
) -> Published:
    """Publish a version of an item and index it to ready."""
    version = await commit(world, item_id, text, evidence=evidence, visibility=visibility)
    return await make_ready(world, version)
