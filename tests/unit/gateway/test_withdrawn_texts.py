"""What is withdrawn is told as that to those who may know it, and not as something to come."""

from __future__ import annotations

import pytest

from chancery.events import queries
from chancery.events.topology import query_subject
from chancery.kernel.errors import NotFound
from tests.unit.gateway.fakes import World

AUTHORISE = query_subject("release", "authorise")
WORKSPACE = "/v1/workspaces/w"
PLACES = [
    "items/guide/versions/1/text",
    "items/guide/versions/1/manifest",
    "items/guide/versions/1/parts/p",
    "sources/guide/revisions/1/text",
    "datasets/guide/schema",
]


def pinned(reason: str | None) -> queries.PinnedRevision:
    """Return an authorised revision without a text."""
    return queries.PinnedRevision(
        kind="item",
        key="k",
        id="guide",
        title="Guide",
        revision=1,
        content_sha256="0" * 64,
        media_type="text/markdown",
        size_bytes=1,
        state="pending" if reason is None else "excluded",
        reason=reason,
    )


@pytest.mark.req("CR-6")
@pytest.mark.parametrize("place", PLACES)
async def test_a_withdrawn_text_is_told_apart_from_one_to_come(place: str) -> None:
    world = World()
    told: list[tuple[int, str, bool]] = []
    for reason in ("withdrawn", None):
        world.owners.answers[AUTHORISE] = pinned(reason)
        async with world.client() as client:
            reply = await client.get(f"{WORKSPACE}/{place}")
        told.append((reply.status_code, reply.json()["code"], "withdrawn" in reply.text))

    assert told == [(404, "withdrawn", True), (404, "not_extracted", False)]


@pytest.mark.req("CR-6")
@pytest.mark.parametrize("place", PLACES)
async def test_who_may_not_know_it_is_told_what_is_told_of_nothing(place: str) -> None:
    world = World()
    world.owners.answers[AUTHORISE] = NotFound("there is no such item", code="item_not_found")
    async with world.client() as client:
        reply = await client.get(f"{WORKSPACE}/{place}")

    assert (reply.status_code, reply.json()["code"]) == (404, "item_not_found")
    assert "withdrawn" not in reply.text
