"""Uploads for submissions over the bus: kept apart for each principal, and bounded."""

from __future__ import annotations

import pytest

from chancery.events import queries
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Denied
from chancery.store.blobs import upload_place
from tests.unit.gateway.fakes import World

BYTES = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def world() -> World:
    world = World()
    world.owners.answers["query.release.identity.v1"] = queries.Identity.model_construct()
    return world


@pytest.mark.req("EV-9")
async def test_an_upload_is_stored_for_its_sender_alone(world: World) -> None:
    async with world.client() as client:
        response = await client.post("/v1/blobs", content=b"long text", headers=BYTES)

    sha256 = sha256_hex(b"long text")
    assert response.status_code == 201
    assert response.json() == {"sha256": sha256, "size_bytes": 9}
    assert await world.blobs.exists("default", sha256, run=upload_place("ada"))
    assert not await world.blobs.exists("default", sha256)
    assert not await world.blobs.exists("default", sha256, run=upload_place("bob"))


@pytest.mark.parametrize(("content", "status"), [(b"", 422), (b"x" * 1001, 413)])
async def test_an_upload_without_bytes_or_with_too_many_is_refused(
    world: World, content: bytes, status: int
) -> None:
    async with world.client() as client:
        response = await client.post("/v1/blobs", content=content, headers=BYTES)

    assert response.status_code == status
    assert not await world.blobs.exists("default", sha256_hex(content), run=upload_place("ada"))


async def test_an_upload_of_a_stranger_is_not_stored(world: World) -> None:
    world.owners.answers["query.release.identity.v1"] = Denied("no")

    async with world.client() as client:
        response = await client.post("/v1/blobs", content=b"long text", headers=BYTES)

    assert response.status_code == 401
    assert not await world.blobs.exists(
        "default", sha256_hex(b"long text"), run=upload_place("ada")
    )
