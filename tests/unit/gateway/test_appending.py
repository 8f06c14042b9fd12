"""Rows that are appended: both tables count among the bodies that are in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chancery.events import commands
from chancery.gateway.handlers.appending import APPENDED_BYTES_MAX
from chancery.gateway.handlers.room import COPIES, Room
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Conflict
from chancery.store.blobs import open_blobs
from chancery.store.local_blobs import LocalBlobs
from tests.unit.gateway.fakes import World
from tests.unit.gateway.sending import Sender
from tests.unit.gateway.test_datasets import DATASET, OUTCOME, PINNED

BASE = b"id\n" + b"1234567\n" * 8192
ADDED = b"id\n1\n"
APPEND = f"{DATASET}/snapshots"


@pytest.fixture
async def world(tmp_path: Path) -> World:
    """Return an edge at which rows may be appended to `BASE`."""
    world = World(blobs=open_blobs(tmp_path.as_uri()))
    sha256 = await world.blobs.put("default", BASE)
    pinned = {"content_sha256": sha256, "size_bytes": len(BASE)}
    world.owners.answers |= {
        "query.release.authorise.v1": PINNED.model_copy(update=pinned),
        "query.ingestion.upload-permission.v1": commands.Outcome(sequence=1, changed=False),
        "command.ingestion.publish-snapshot.v1": OUTCOME,
    }
    return world


async def append(world: World) -> Sender:
    """Append one row and return what was answered."""
    sender = Sender(ADDED, 1)
    await sender.call(world.surface(), APPEND, "text/csv", query=b"mode=append")
    return sender


@pytest.mark.req("CL-8")
async def test_the_table_that_is_continued_counts_among_the_bodies_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = COPIES * (len(BASE) + len(ADDED))
    world.room = Room(whole_bytes=2 * each)
    held: list[int] = []
    read = LocalBlobs.get

    async def watched(self: LocalBlobs, tenant: str, sha256: str, *, limit: int) -> bytes:
        held.append(world.room.whole_now)
        return await read(self, tenant, sha256, limit=limit)

    monkeypatch.setattr(LocalBlobs, "get", watched)
    told = await asyncio.gather(*(append(world) for _ in range(8)))

    assert {one.status for one in told} == {201}
    assert (len(held), max(held)) == (8, 2 * each)
    assert min(held) >= each
    assert world.room.held == 0
    joined = BASE + b"1\n"
    assert await world.blobs.exists("default", sha256_hex(joined))


@pytest.mark.req("CL-8")
async def test_tables_that_fit_only_one_by_one_do_not_wait_for_each_other_for_ever(
    world: World,
) -> None:
    world.room = Room(whole_bytes=COPIES * len(BASE) // 2)

    told = await asyncio.gather(*(append(world) for _ in range(8)))

    assert {one.status for one in told} == {201}
    assert world.room.held == 0


async def test_what_is_sent_again_since_others_published_gives_its_room_back_in_between(
    world: World,
) -> None:
    moved = Conflict("another snapshot was published", code="snapshot_moved")
    world.owners.answers["command.ingestion.publish-snapshot.v1"] = moved

    sender = await append(world)

    asked = [subject for subject, _ in world.owners.asked]
    assert asked.count("command.ingestion.publish-snapshot.v1") == 4
    assert (sender.status, world.room.held) == (409, 0)


@pytest.mark.req("KO-3")
async def test_a_table_that_is_too_long_already_is_refused_before_it_is_loaded(
    world: World,
) -> None:
    too_long = PINNED.model_copy(update={"size_bytes": APPENDED_BYTES_MAX + 1})
    world.owners.answers["query.release.authorise.v1"] = too_long

    sender = await append(world)

    assert (sender.status, sender.problem["code"]) == (413, "append_too_large")
