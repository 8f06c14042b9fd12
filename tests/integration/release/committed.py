"""Versions of items on the log, and views of them: as indexing makes them, or others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef, item_ref
from chancery.authority.states import ItemState, State
from chancery.events.authority import Visibility
from chancery.events.index import RevisionExtracted, RevisionReady
from chancery.evidence.knowledge import KnowledgeManifest
from chancery.extract.items import view_of
from chancery.kernel.canonical import sha256_hex
from tests.integration.release.curated import draft_of, version_of
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World


@dataclass(frozen=True, slots=True)
class Version:
    """A version as it stands on the log, before the index has seen it."""

    ref: AggregateRef
    item_id: str
    number: int
    text: str
    state: ItemState
    sequence: int

    def view(self, text: str | None = None) -> KnowledgeManifest:
        """Return the manifest of its complete view, or of what another text would give."""
        body = self.text if text is None else text
        return view_of(self.ref.id, self.state, self.number, body, extractor="text/1")


async def commit(
    world: World,
    item_id: str,
    text: str,
    *,
    evidence: Sequence[Published] = (),
    visibility: Visibility = "workspace",
    native: str | None = None,
) -> Version:
    """Append a draft and the version made of it; `native` is the id that it was committed under."""
    ref = item_ref(WORKSPACE, item_id)
    draft = draft_of(item_id, text, *evidence, visibility=visibility)
    published = version_of(draft, 1)
    if native is not None:
        published = published.model_copy(update={"native_item_id": native})
    await world.blobs.put(TENANT, text.encode())
    await world.append(ref, draft)
    sequence = await world.append(ref, published)
    state: State | None = None
    for data in (draft, published):
        state = evolve("item", state, data)
    assert isinstance(state, ItemState)
    return Version(ref, item_id, 1, text, state, sequence)


async def make_ready(
    world: World, version: Version, *, manifest: bytes | None = None, text: str | None = None
) -> Published:
    """Play indexing for a version, honestly or with another view."""
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
        "manifest_sha256": await world.blobs.put(TENANT, manifest or version.view().to_bytes()),
    }
    extracted = {**common, "extractor": "text/1", "length": len(shown)}
    await world.index(version.ref, RevisionExtracted.model_validate(extracted))
    await world.index(version.ref, RevisionReady.model_validate(common))
    parts = version.view().as_text().model_copy(update={"extraction_sha256": extraction})
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
