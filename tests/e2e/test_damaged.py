"""Bytes that a disk damaged: what names them is not found until somebody has them made again."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from chancery.client.errors import ProblemError
from chancery.extract.media import HTML
from chancery.testkit.waiting import eventually
from tests.e2e.running import System
from tests.e2e.test_documents import DOCUMENTS, FACT, publish
from tests.e2e.test_search import search
from tests.e2e.world import World


def own_bytes(world: World) -> bytes:
    """Return a document that no other test has."""
    return DOCUMENTS[HTML] + f"<p>{world.id}</p>".encode()


def turn_a_bit(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes((data[0] ^ 1,)) + data[1:])


def has_its_hash(path: Path) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == path.name


@pytest.mark.req("CL-4", "CL-6")
@pytest.mark.parametrize("verb", ["refresh", "reconcile"])
async def test_a_damaged_text_is_made_again_on_request_and_found_again(
    system: System, world: World, verb: str
) -> None:
    await publish(world, HTML, own_bytes(world))
    reader = world.reader.workspace(world.id)
    pinned = await reader.revision("pumps", 1)
    (path,) = (system.folder / "blobs").rglob(str(pinned.extraction_sha256))
    assert len((await search(world, world.reader)).hits) == 1
    turn_a_bit(path)
    assert not (await search(world, world.reader)).hits
    with pytest.raises(ProblemError):
        await reader.text("pumps", 1)

    if verb == "refresh":
        await reader.refresh("pumps", 1)
    else:
        await reader.reconcile("pumps")

    async def is_found() -> bool:
        found = await search(world, world.reader)
        return (len(found.hits), found.coverage.state) == (1, "complete")

    await eventually(lambda: has_its_hash(path))
    await eventually(is_found)
    assert FACT in await reader.text("pumps", 1)


@pytest.mark.req("CL-1")
async def test_bytes_that_are_published_again_mend_those_that_were_damaged(
    system: System, world: World
) -> None:
    data = own_bytes(world)
    await publish(world, HTML, data)
    (path,) = (system.folder / "blobs").rglob(hashlib.sha256(data).hexdigest())
    turn_a_bit(path)

    await world.desk.declare_source("again", "Again")
    again = await world.desk.publish("again", data, HTML)

    assert has_its_hash(path)
    assert (await world.desk.wait_until_ready("again", again.revision)).state == "ready"
