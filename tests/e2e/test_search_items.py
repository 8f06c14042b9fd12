"""Searching curated items and private files in the running system."""

from __future__ import annotations

import asyncio
import json

import pytest

from chancery.client.errors import ProblemError
from chancery.client.found import Found
from chancery.client.http import Chancery
from chancery.client.knowledge import Evidence
from chancery.kernel.canonical import sha256_hex
from tests.e2e.curating import GUIDE, LAW, item, source
from tests.e2e.running import System, command
from tests.e2e.world import World

QUERY = "opens in the morning"


async def search(
    world: World, client: Chancery, *, items: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> Found:
    return await client.workspace(world.id).search(QUERY, items=items, files=files)


async def refused(
    world: World, client: Chancery, *, items: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> tuple[int, str, str, str | None]:
    """Return what the caller is told, with ID in the place of the id that was sent."""
    with pytest.raises(ProblemError) as error:
        await search(world, client, items=items, files=files)
    (sent,) = (*items, *files)
    detail = error.value.detail.replace(sent, "ID")
    return error.value.status, error.value.code, detail, error.value.field


async def keep(client: Chancery) -> str:
    uploaded = await client.files.upload(LAW.encode(), "text/markdown", title="my notes")
    assert (await client.files.wait_until_ready(uploaded.file_id)).state == "ready"
    return uploaded.file_id


@pytest.mark.req("KO-3", "CR-10", "CR-11")
async def test_a_hit_names_what_it_stands_in_by_one_form(world: World) -> None:
    await source(world, "law")
    guide = await item(world, "guide")
    file_id = await keep(world.reader)
    reader = world.reader.workspace(world.id)

    everything = await search(world, world.reader)
    (curated,) = (await search(world, world.reader, items=("guide",))).hits
    (own,) = (await search(world, world.reader, files=(file_id,))).hits

    assert {(hit.source_id, hit.item_id, hit.file_id) for hit in everything.hits} == {
        ("law", None, None),
        (None, "guide", None),
    }
    assert (everything.coverage.state, everything.coverage.eligible) == ("complete", 2)
    assert (curated.item_id, curated.version) == ("guide", 1)
    assert (curated.version_id, curated.page) == (guide.published.version_id, None)
    assert (curated.source_id, curated.file_id, curated.revision) == (None, None, None)
    body = await reader.items.text("guide", 1)
    assert body[curated.start : curated.end] == curated.excerpt == GUIDE
    assert curated.sha256 == sha256_hex(GUIDE.encode())
    assert (own.file_id, own.source_id, own.item_id) == (file_id, None, None)
    assert own.excerpt == LAW[own.start : own.end]


@pytest.mark.req("CR-4", "CR-5", "CL-12")
@pytest.mark.parametrize("how", ["revoked", "withdrawn"])
async def test_an_item_whose_evidence_may_not_be_read_is_found_like_an_unknown_one(
    world: World, how: str
) -> None:
    desk = world.desk
    evidence = await world.document("basis", "Minutes.", access="restricted")
    await desk.grant("sources", "basis", world.reader_name)
    await item(world, "guide", evidence=[Evidence("source", "basis", evidence)])
    before = await search(world, world.reader, items=("guide",))

    if how == "revoked":
        await desk.revoke_grant("sources", "basis", world.reader_name)
    else:
        await desk.withdraw("sources", "basis")
    after = await search(world, world.reader)

    assert [hit.item_id for hit in before.hits] == ["guide"]
    assert after.hits == ()
    assert after.coverage.eligible == 0
    named = await refused(world, world.reader, items=("guide",))
    assert named == await refused(world, world.reader, items=("unknown",))
    assert named[:2] == (404, "item_not_found")
    curator = await search(world, world.publisher)
    assert [hit.item_id for hit in curator.hits] == (["guide"] if how == "revoked" else [])


@pytest.mark.req("KO-3", "KO-9", "CL-12")
async def test_a_private_file_is_searched_by_its_owner_alone(world: World) -> None:
    file_id = await keep(world.reader)
    own = await search(world, world.reader, files=(file_id,))

    unnamed = await search(world, world.reader)
    told = {
        await refused(world, client, files=(name,))
        for client, name in (
            (world.publisher, file_id),
            (world.operator, file_id),
            (world.publisher, "unknown"),
        )
    }
    await world.reader.files.delete(file_id)
    told.add(await refused(world, world.reader, files=(file_id,)))

    assert [hit.file_id for hit in own.hits] == [file_id]
    assert (unnamed.hits, unnamed.coverage.eligible) == ((), 0)
    assert told == {(404, "file_not_found", "there is no such file: ID", "files")}


async def test_the_command_searches_what_is_selected(system: System, world: World) -> None:
    await source(world, "law")
    await item(world, "guide")
    file_id = await keep(world.reader)
    environment = {**system.environment, "CHANCERY_TOKEN": str(world.reader.transport.token)}
    arguments = ["search", *QUERY.split(), "-w", world.id]

    only = await asyncio.to_thread(command, [*arguments, "--item", "guide"], environment)
    own = await asyncio.to_thread(command, [*arguments, "--file", file_id], environment)
    both = await asyncio.to_thread(
        command, [*arguments, "--source", "law", "--item", "guide", "--json"], environment
    )
    unknown = await asyncio.to_thread(command, [*arguments, "--item", "nothing"], environment)

    assert f"[1] Item guide (item guide, version 1, 0–{len(GUIDE)})" in only.stdout
    assert "town hall" not in only.stdout
    assert f"my notes (file {file_id}, 0–{len(LAW)})" in own.stdout
    assert {hit["item_id"] for hit in json.loads(both.stdout)["hits"]} == {"guide", None}
    assert unknown.returncode != 0
    assert "there is no such item" in unknown.stderr
