"""Items and private files in what a search may cover: with all their evidence, or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from chancery.authority.names import AggregateRef, file_ref, item_ref, source_ref
from chancery.events.authority import SourceGrantRevoked
from chancery.events.authority_knowledge import (
    FileDeleted,
    FileUploaded,
    ItemGrantRevoked,
    ItemWithdrawn,
)
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import NotFound
from tests.integration.release.committed import commit, publish_item
from tests.integration.release.test_search_scope import TEXT, ids, scope
from tests.integration.release.world import TENANT, WORKSPACE, World

pytestmark = pytest.mark.integration

ITEM = item_ref(WORKSPACE, "guide")
BASIS = source_ref(WORKSPACE, "basis")
Move = Callable[[World], Awaitable[object]]

MOVES: dict[str, Move] = {
    "root revoked": lambda world: world.append(BASIS, SourceGrantRevoked(grantee="anna")),
    "root withdrawn": lambda world: world.withdraw("basis"),
    "item withdrawn": lambda world: world.append(ITEM, ItemWithdrawn()),
}


async def refused(
    world: World,
    who: str,
    *sources: str,
    items: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
) -> tuple[str, str, str | None]:
    with pytest.raises(NotFound) as error:
        await scope(world, who, *sources, items=items, files=files)
    *_, named = (*sources, *items, *files)
    return error.value.code, error.value.detail.removesuffix(f": {named}"), error.value.field


async def upload(world: World, file_id: str, owner: str) -> AggregateRef:
    ref = file_ref(file_id)
    content = await world.blobs.put(TENANT, TEXT.encode())
    data = FileUploaded(
        file_id=file_id,
        owner=owner,
        title="notes",
        content_sha256=content,
        media_type="text/plain",
        size_bytes=len(TEXT),
    )
    await world.append(ref, data)
    return ref


@pytest.mark.req("CR-10", "CR-11", "CL-12")
async def test_items_are_searched_with_the_sources_and_by_selection_alone(world: World) -> None:
    await world.publish_source("handbook", TEXT)
    guide = await publish_item(world, "guide", TEXT)
    await upload(world, "note", "anna")

    everything = await scope(world, "anna")
    item, source = (
        await scope(world, "anna", items=("guide",)),
        await scope(world, "anna", "handbook"),
    )
    file = await scope(world, "anna", files=("note",))
    mixed = await scope(world, "anna", "handbook", items=("guide",), files=("note",))

    assert {each.kind for each in everything.revisions} == {"source", "item"}
    (pinned,) = item.revisions
    assert (pinned.kind, pinned.id, pinned.revision) == ("item", "guide", 1)
    assert (pinned.key, pinned.manifest_sha256 is None) == (guide.ref.id, False)
    assert pinned.version_id is not None
    assert ids(source) == {"handbook"}
    assert [(each.kind, each.id, each.state) for each in file.revisions] == [
        ("file", "note", "pending")
    ]
    assert {each.kind for each in mixed.revisions} == {"source", "item", "file"}
    assert {each.version_id for each in source.revisions} == {None}


@pytest.mark.req("CR-4", "CR-5", "CL-12")
@pytest.mark.parametrize("name", MOVES)
async def test_an_item_that_may_not_be_used_any_more_is_refused_like_an_unknown_one(
    world: World, name: str
) -> None:
    basis = await world.publish_source("basis", TEXT, visibility="restricted")
    await publish_item(world, "guide", TEXT, evidence=[basis])
    before = await scope(world, "anna", items=("guide",))
    await MOVES[name](world)

    after = await scope(world, "anna")
    gone = await refused(world, "anna", items=("guide",))

    assert ids(before) == {"guide"}
    assert "guide" not in ids(after)
    assert gone == await refused(world, "anna", items=("unknown",))
    assert gone == ("item_not_found", "there is no such item", "items")


@pytest.mark.req("CR-4", "CL-12")
async def test_an_item_that_was_not_granted_or_not_published_is_no_item(world: World) -> None:
    await publish_item(world, "guide", TEXT, visibility="private")
    restricted = await publish_item(world, "open", TEXT)
    await world.append(restricted.ref, ItemGrantRevoked(grantee="bert"))
    await commit(world, "fresh", TEXT)

    told = {
        await refused(world, "anna", items=("guide",)),
        await refused(world, "anna", items=("open", "guide")),
        await refused(world, "anna", items=("open", "unknown")),
    }
    found = await scope(world, "anna", items=("open", "fresh"))

    assert told == {("item_not_found", "there is no such item", "items")}
    assert {each.id: each.state for each in found.revisions} == {
        "open": "ready",
        "fresh": "pending",
    }


@pytest.mark.req("KO-9", "CL-12")
async def test_a_foreign_a_deleted_and_an_unknown_file_are_one_case(world: World) -> None:
    await upload(world, "own", "anna")
    await upload(world, "foreign", "bert")
    gone = await upload(world, "gone", "anna")
    await world.append(gone, FileDeleted())

    told = {await refused(world, "anna", files=(name,)) for name in ("foreign", "gone", "unknown")}
    with_own = await refused(world, "anna", files=("own", "foreign"))

    assert told == {with_own} == {("file_not_found", "there is no such file", "files")}
    assert ids(await scope(world, "anna", files=("own",))) == {"own"}
    assert ids(await scope(world, "bert", files=("foreign",))) == {"foreign"}


@pytest.mark.req("CR-10", "KO-9")
async def test_a_source_and_an_item_of_one_id_are_two_things(world: World) -> None:
    await world.publish_source("guide", TEXT, visibility="private")
    await publish_item(world, "guide", f"Item. {TEXT}")

    item = await scope(world, "bert", items=("guide",))

    assert [each.kind for each in item.revisions] == ["item"]
    assert (await refused(world, "bert", "guide"))[0] == "source_not_found"
    assert sha256_hex(TEXT.encode()) not in item.model_dump_json()
