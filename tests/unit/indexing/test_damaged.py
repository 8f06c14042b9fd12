"""A blob that is there damaged is as good as gone: a refresh and a reconciliation make it again."""

from __future__ import annotations

from typing import Literal

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.events.index import RevisionReady
from chancery.evidence.manifest import Manifest
from chancery.indexing.domain.standing import LOST
from chancery.indexing.domain.wishes import WHOLE
from chancery.kernel.canonical import sha256_hex
from tests.unit.indexing import test_made_again
from tests.unit.indexing.test_made_again import HTML, PAGE, fail, read
from tests.unit.indexing.test_recovering import Shelf
from tests.unit.indexing.test_refreshing import Desk, wish
from tests.unit.indexing.world import DATASET, SOURCE, World, declared_dataset, declared_source

MISSING = f"unavailable 1 {LOST}"
CSV = b"id,price\n1,2\n"
Part = Literal["text", "manifest", "layout"]

shelf = test_made_again.shelf


async def hash_of(world: World, part: Part) -> str:
    """Return the hash of a part of the form that serves."""
    ready = world.last(RevisionReady)
    assert isinstance(ready, RevisionReady)
    if part == "text":
        return ready.extraction_sha256
    if part == "manifest":
        return ready.manifest_sha256
    data = await world.blobs.get(world.ref.tenant, ready.manifest_sha256, limit=1_000_000)
    found = Manifest.from_bytes(data).layout_sha256
    assert found is not None
    return found


def damage(world: World, sha256: str) -> None:
    """Turn one bit of a blob."""
    key = f"{world.ref.tenant}/{sha256}"
    data = world.blobs.stored[key]
    world.blobs.stored[key] = bytes((data[0] ^ 1,)) + data[1:]


@pytest.mark.req("CL-4", "CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
@pytest.mark.parametrize("part", ["text", "manifest", "layout"])
async def test_what_is_damaged_is_made_again_and_announced_for_the_search_index(
    shelf: Shelf, part: Part, revision: int
) -> None:
    sha256 = await hash_of(shelf.world, part)
    damage(shelf.world, sha256)

    await shelf.desk.work(wish(revision))

    assert await shelf.world.blobs.is_intact(SOURCE.tenant, sha256)
    assert shelf.world.blobs.stored == shelf.stored
    assert shelf.world.told()[3:] == ["ready 1"]


@pytest.mark.req("CL-4", "CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_what_is_whole_is_announced_again_unread(shelf: Shelf, revision: int) -> None:
    reads = shelf.world.reads

    await shelf.desk.work(wish(revision))

    assert shelf.world.told()[3:] == ["ready 1"]
    assert shelf.world.reads == reads


@pytest.mark.req("CL-1", "CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_what_cannot_be_made_again_is_unavailable_until_its_document_is_stored_again(
    shelf: Shelf, revision: int
) -> None:
    for sha256 in (await hash_of(shelf.world, "text"), sha256_hex(PAGE)):
        damage(shelf.world, sha256)
    await shelf.desk.work(wish(revision))
    await shelf.look()
    before = shelf.world.told()

    await shelf.world.blobs.put(SOURCE.tenant, PAGE)
    await shelf.look()

    assert before[3:] == [MISSING]
    assert shelf.world.told()[3:] == [MISSING, "ready 1"]
    assert shelf.world.blobs.stored == shelf.stored


@pytest.mark.req("CL-1")
async def test_a_lost_form_that_comes_back_damaged_is_not_ready(shelf: Shelf) -> None:
    shelf.lose()
    await shelf.desk.work(wish())
    shelf.restore()
    damage(shelf.world, await hash_of(shelf.world, "text"))
    shelf.world.read = fail

    await shelf.look()
    before = shelf.world.told()
    shelf.restore()
    await shelf.look()

    assert before[3:] == [MISSING]
    assert shelf.world.told()[3:] == [MISSING, "ready 1"]


@pytest.mark.req("CL-4", "CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_what_was_withdrawn_is_not_announced_when_it_is_mended(
    shelf: Shelf, revision: int
) -> None:
    damage(shelf.world, await hash_of(shelf.world, "text"))
    shelf.world.record(RevisionWithdrawn())

    await shelf.desk.work(wish(revision))

    assert shelf.world.told()[3:] == ["excluded 1 withdrawn"]


@pytest.mark.req("CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_a_revision_that_failed_by_damaged_bytes_is_tried_again(revision: int) -> None:
    world = World(SOURCE, read=read)
    world.record(declared_source())
    event = await world.publish(PAGE, media_type=HTML)
    damage(world, sha256_hex(PAGE))
    await world.handle(event)
    desk = Desk(world)
    await desk.work(wish(revision, "r0"))
    before = world.told()

    await world.blobs.put(SOURCE.tenant, PAGE)
    await desk.work(wish(revision))

    assert before[-1] == "failed 1 blob_corrupt"
    assert world.told()[len(before) :] == ["extracted 1", "ready 1"]


async def test_what_its_content_failed_is_tried_again_by_a_refresh_and_not_with_the_whole() -> None:
    world = World(SOURCE, read=fail)
    world.record(declared_source())
    await world.handle(await world.publish(PAGE, media_type=HTML))
    desk, before = Desk(world), world.reads

    await desk.work(wish(WHOLE, "r0"))
    with_the_whole = world.reads - before
    await desk.work(wish())

    assert (with_the_whole, world.reads - before) == (0, 1)


@pytest.mark.parametrize("is_damaged", [False, True])
async def test_the_rows_of_an_earlier_declaration_are_kept_only_undamaged(
    is_damaged: bool,
) -> None:
    world = World(DATASET)
    world.record(declared_dataset())
    await world.handle(await world.publish(CSV, media_type="text/csv"))
    sha256 = await hash_of(world, "text")
    if is_damaged:
        damage(world, sha256)

    await world.handle(world.record(declared_dataset(hidden=("id",))))

    assert world.conversions == 1 + is_damaged
    assert await world.blobs.is_intact(DATASET.tenant, sha256)
