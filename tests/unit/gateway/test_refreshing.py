"""Refreshing at the edge: authorised first, at most once a minute, ready only when confirmed."""

from __future__ import annotations

import pytest

from chancery.events import queries
from chancery.events.index_requests import RefreshRevision, RevisionConfirmed, WorkAccepted
from chancery.events.topology import command_subject, query_subject
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError, NotFound, Rejected, Unavailable
from tests.unit.gateway.fakes import World

SOURCE = "/v1/workspaces/w/sources/s"
AUTHORISE = query_subject("release", "authorise")
CONFIRM = query_subject("retrieval", "confirm")
REFRESH = command_subject("indexing", "refresh")
RECONCILE = command_subject("indexing", "reconcile")


@pytest.fixture
def world() -> World:
    world = World()
    world.owners.answers[REFRESH] = WorkAccepted(is_new=True)
    world.owners.answers[RECONCILE] = WorkAccepted(is_new=True)
    world.owners.answers[CONFIRM] = RevisionConfirmed(is_indexed=True)
    return world


def authorised(world: World, state: str) -> None:
    hashes: dict[str, Json] = {}
    if state == "ready":
        hashes = {"extraction_sha256": "1" * 64, "manifest_sha256": "2" * 64}
    world.owners.answers[AUTHORISE] = queries.PinnedRevision.model_validate(
        {
            "kind": "source",
            "key": "key",
            "id": "s",
            "title": "S",
            "revision": 3,
            "content_sha256": "0" * 64,
            "media_type": "text/plain",
            "size_bytes": 1,
            "state": state,
            "reason": "timeout" if state == "failed" else None,
            **hashes,
        }
    )


async def post(
    world: World, verb: str, body: dict[str, Json] | None = None
) -> tuple[int, dict[str, Json], str | None]:
    async with world.client() as client:
        response = await client.post(f"{SOURCE}/{verb}", json=body)
    found: dict[str, Json] = response.json()
    return response.status_code, found, response.headers.get("retry-after")


@pytest.mark.req("CL-6")
@pytest.mark.parametrize(
    ("state", "indexed", "told"),
    [
        ("ready", True, "ready"),
        ("ready", False, "pending"),
        ("failed", True, "pending"),
        ("pending", True, "pending"),
    ],
)
async def test_a_refresh_says_ready_only_when_the_index_confirms(
    world: World, state: str, indexed: bool, told: str
) -> None:
    authorised(world, state)
    world.owners.answers[CONFIRM] = RevisionConfirmed(is_indexed=indexed)

    status, found, _ = await post(world, "refresh", {"revision": 3})

    assert (status, found) == (202, {"revision": 3, "state": told, "reason": None})
    sent = {subject: request.body for subject, request in world.owners.asked}
    assert sent[REFRESH] == RefreshRevision(key="key", revision=3)


@pytest.mark.req("CL-6")
@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (Rejected("ask again in 59 s", code="refreshed_recently"), 429),
        (Unavailable("indexing is away"), 503),
    ],
)
async def test_what_indexing_refuses_is_told(
    world: World, refusal: ChanceryError, status: int
) -> None:
    authorised(world, "ready")
    world.owners.answers[REFRESH] = refusal

    told, found, later = await post(world, "refresh", {"revision": 3})

    assert (told, found["detail"]) == (status, refusal.detail)
    assert later == {429: "60", 503: "1"}[status]


@pytest.mark.req("CL-6")
async def test_only_an_eligible_revision_is_refreshed(world: World) -> None:
    authorised(world, "excluded")
    excluded = await post(world, "refresh", {"revision": 3})
    world.owners.answers[AUTHORISE] = NotFound("there is no such source", code="source_not_found")
    hidden = await post(world, "refresh", {"revision": 3})
    unnamed = await post(world, "refresh", {})

    assert (excluded[0], excluded[1]["code"]) == (409, "not_eligible")
    assert (hidden[0], hidden[1]["code"]) == (404, "source_not_found")
    assert (unnamed[0], unnamed[1]["field"]) == (422, "revision")
    assert REFRESH not in [subject for subject, _ in world.owners.asked]


@pytest.mark.parametrize(
    ("state", "indexed", "told"),
    [
        ("ready", True, ("ready", None)),
        ("ready", False, ("pending", None)),
        ("failed", False, ("failed", "timeout")),
        ("excluded", False, ("excluded", None)),
    ],
)
async def test_reconciling_tells_the_state_as_it_is(
    world: World, state: str, indexed: bool, told: tuple[str, str | None]
) -> None:
    authorised(world, state)
    world.owners.answers[CONFIRM] = RevisionConfirmed(is_indexed=indexed)

    status, found, _ = await post(world, "reconcile")

    assert (status, found["state"], found["reason"]) == (202, *told)
    assert RECONCILE in [subject for subject, _ in world.owners.asked]
