"""One index beside the other: searched all the while, switched once, continued after a crash."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from tantivy import Document, Index, SchemaBuilder

from chancery.kernel.errors import Unavailable
from chancery.retrieval.adapters.checkpoint import FORMAT
from chancery.retrieval.adapters.documents import POSITION
from chancery.retrieval.adapters.folders import IndexFolders
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.domain.entries import Pin
from chancery.retrieval.handlers.following import Following
from chancery.retrieval.handlers.keeping import Keeping
from chancery.retrieval.handlers.loading import Loading
from chancery.testkit.waiting import eventually
from tests.unit.retrieval.world import TENANT, World

POLL_S = 0.01


def keeping(world: World, folders: IndexFolders) -> Keeping:
    def over(folder: Path) -> Following:
        index, checkpoint = TenantIndexes.open(folder), folders.checkpoint(folder)
        return Following(world, index, checkpoint, Loading(world.blobs), world)

    folders.settle()
    return Keeping(
        folders,
        over(folders.live),
        partial(TenantIndexes.open, folders.live),
        partial(over, folders.beside),
        POLL_S,
    )


@asynccontextmanager
async def running(kept: Keeping) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(kept.run())
        yield
        task.cancel()
    kept.following.index.close()


async def indexed(folder: Path, folders: IndexFolders) -> tuple[World, Pin]:
    """Return a world with one document, after an index of it was kept and closed."""
    world = World(folder)
    pin = await world.document("a", "service reviews")
    first = keeping(world, folders)
    async with running(first):
        await eventually(lambda: first.following.position == 1)
    return world, pin


def found(kept: Keeping, *pins: Pin) -> set[int]:
    numbers = [pin.number for pin in pins]
    hits = kept.following.index.within(TENANT, numbers).search("reviews", kind="passage", limit=50)
    return {hit.pin for hit in hits}


@pytest.fixture
def folders(tmp_path: Path) -> IndexFolders:
    return IndexFolders(tmp_path / "index")


async def test_a_wished_rebuild_takes_the_place_of_what_was_searched(
    tmp_path: Path, folders: IndexFolders
) -> None:
    world = World(tmp_path)
    first = await world.document("a", "service reviews")
    gone = await world.document("b", "more reviews")
    world.exclude(gone)
    kept = keeping(world, folders)

    async with running(kept):
        await eventually(lambda: kept.following.position == 3)
        old = kept.following.index
        folders.wish.touch()
        await eventually(lambda: not folders.wish.exists())
        await eventually(lambda: kept.following.index is not old)
        assert found(kept, first, gone) == {first.number}
        second = await world.document("c", "late reviews")
        await eventually(lambda: kept.following.position == 4)
        assert found(kept, first, second) == {first.number, second.number}

    assert not folders.beside.exists()
    again = keeping(world, folders)
    assert again.following.index.positions() == {TENANT: 4}


async def test_searching_and_following_go_on_while_another_index_is_built(
    tmp_path: Path, folders: IndexFolders
) -> None:
    world = World(tmp_path)
    first = await world.document("a", "service reviews")
    kept = keeping(world, folders)
    held = asyncio.Event()
    original = kept.open_beside

    def slow() -> Following:
        beside = original()
        asyncio.run_coroutine_threadsafe(_set(held), loop)
        return beside

    loop = asyncio.get_running_loop()
    kept = Keeping(folders, kept.following, kept.open_live, slow, POLL_S)
    async with running(kept):
        await eventually(lambda: kept.following.position == 1)
        folders.wish.touch()
        async with asyncio.timeout(60):
            await held.wait()
        assert found(kept, first) == {first.number}
        second = await world.document("b", "other reviews")
        await eventually(lambda: found(kept, second) == {second.number})
        await eventually(lambda: not folders.wish.exists())
        await eventually(lambda: found(kept, first, second) == {first.number, second.number})

    assert kept.following.reason is None


async def test_what_a_crash_left_beside_is_continued(tmp_path: Path, folders: IndexFolders) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    cut = keeping(world, folders)
    beside = cut.open_beside()
    async with asyncio.TaskGroup() as group:
        building = group.create_task(beside.run())
        await beside.passed(lambda: 1)
        building.cancel()
    beside.index.close()
    cut.following.index.close()
    texts = dict(world.blobs.stored)
    folders.wish.touch()
    kept = keeping(world, folders)

    async with running(kept):
        await eventually(lambda: not folders.wish.exists())
        await eventually(lambda: found(kept, pin) == {pin.number})

    assert dict(world.blobs.stored) == texts


@pytest.mark.parametrize("is_live_there", [True, False])
async def test_a_switch_that_was_cut_is_finished_at_the_next_start(
    tmp_path: Path, folders: IndexFolders, is_live_there: bool
) -> None:
    world, pin = await indexed(tmp_path, folders)
    folders.live.rename(folders.beside)
    (folders.beside / "due").touch()
    if is_live_there:
        folders.live.mkdir()

    kept = keeping(world, folders)

    assert found(kept, pin) == {pin.number}
    assert not folders.beside.exists()
    assert not (folders.live / "due").exists()


async def test_an_index_of_another_format_is_searched_until_a_new_one_takes_its_place(
    tmp_path: Path, folders: IndexFolders
) -> None:
    world, pin = await indexed(tmp_path, folders)
    file = folders.live / "checkpoint.json"
    written = file.read_text("utf-8")
    file.write_text(written.replace(f'"format":{FORMAT}', '"format":0'), "utf-8")
    world.blobs.away.add(TENANT)

    kept = keeping(world, folders)
    with pytest.raises(Unavailable):
        await kept.run()
    meanwhile = found(kept, pin)
    outdated = folders.checkpoint(folders.live).is_outdated()
    world.blobs.away.clear()
    again = keeping(world, folders)
    async with running(again):
        await eventually(lambda: not folders.wish.exists())
        await eventually(lambda: found(again, pin) == {pin.number})

    assert (meanwhile, outdated) == ({pin.number}, True)
    assert not folders.checkpoint(folders.live).is_outdated()


async def test_an_index_with_other_fields_is_built_again_and_holds_nothing_until_then(
    tmp_path: Path, folders: IndexFolders
) -> None:
    world, pin = await indexed(tmp_path, folders)
    shutil.rmtree(folders.live / TENANT)
    _index_of_other_fields(folders.live / TENANT)

    kept = keeping(world, folders)
    before = found(kept, pin)
    async with running(kept):
        await eventually(lambda: kept.following.reason is None)

    assert before == set()
    assert found(kept, pin) == {pin.number}


def _index_of_other_fields(folder: Path) -> None:
    folder.mkdir()
    builder = SchemaBuilder()
    for name in ("kind", "revision", "pin", "start"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    writer = Index(builder.build(), path=str(folder)).writer(15_000_000, 1)
    position = Document()
    position.add_unsigned("kind", POSITION)
    position.add_unsigned("start", 1)
    writer.add_document(position)
    writer.commit()
    writer.wait_merging_threads()


async def test_a_rebuild_that_fails_leaves_what_is_searched(
    tmp_path: Path, folders: IndexFolders
) -> None:
    world = World(tmp_path)
    pin = await world.document("a", "service reviews")
    kept = keeping(world, folders)
    async with running(kept):
        await eventually(lambda: kept.following.position == 1)
    world.blobs.away.add(TENANT)
    folders.wish.touch()
    again = keeping(world, folders)

    with pytest.raises(Unavailable):
        await again.run()

    assert found(again, pin) == {pin.number}
    assert folders.wish.exists()


async def _set(event: asyncio.Event) -> None:
    event.set()
