"""Indexing again on request: what failed or was lost comes back, what was withdrawn does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.events.index import RevisionReady
from chancery.events.index_requests import ReconcileSource, RefreshRevision
from chancery.events.requests import Caller, Message, Request
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.indexing.errors import RefreshedRecently
from chancery.indexing.handlers.refreshing import Refreshing
from chancery.kernel.errors import Unavailable
from chancery.testkit.waiting import eventually
from tests.unit.indexing.world import SOURCE, World, declared_source

BodyT = TypeVar("BodyT", bound=Message)


@dataclass(slots=True)
class MemoryWishes:
    """Wishes in a list; a minute never passes."""

    waiting: list[Wish] = field(default_factory=list[Wish])
    known: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    ended: list[Wish] = field(default_factory=list[Wish])

    async def record(self, wish: Wish) -> bool:
        place = (wish.ref.key, wish.revision)
        if place in self.known:
            if self.known[place] == wish.request_id:
                return False
            raise RefreshedRecently(wait_s=59.2)
        self.known[place] = wish.request_id
        self.waiting.append(wish)
        return True

    async def take(self, served: Sequence[str] = ()) -> Wish | None:
        del served
        return self.waiting.pop(0) if self.waiting else None

    async def renew(self, one: Wish) -> bool:
        return one not in self.waiting

    async def end(self, one: Wish) -> None:
        self.ended.append(one)

    async def give_back(self, one: Wish) -> None:
        self.waiting.append(one)


@dataclass(slots=True)
class Desk:
    """A world with its refreshing."""

    world: World
    wishes: MemoryWishes = field(default_factory=MemoryWishes)

    @property
    def refreshing(self) -> Refreshing:
        publications = self.world.publications
        return Refreshing(self.wishes, publications.announcements, publications.extraction)

    async def work(self, *wishes: Wish) -> None:
        """Carry the wishes out, with whatever waits already."""
        self.wishes.waiting.extend(wishes)
        wanted = len(self.wishes.ended) + len(self.wishes.waiting)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.refreshing.run())
            await eventually(lambda: len(self.wishes.ended) == wanted)
            running.cancel()


@pytest.fixture
def desk() -> Desk:
    world = World(SOURCE)
    world.record(declared_source())
    return Desk(world)


def wish(revision: int = 1, request_id: str = "r1") -> Wish:
    return Wish(SOURCE, revision, request_id)


def request(body: BodyT, key: str) -> Request[BodyT]:
    return Request(
        caller=Caller(tenant="acme", principal="ada", credential_id="c", proof="0" * 64),
        route="POST /refresh",
        idempotency_key=key,
        request_sha256="0" * 64,
        body=body,
    )


@pytest.mark.req("CL-6")
async def test_a_ready_revision_is_announced_once_more_as_it_is(desk: Desk) -> None:
    await desk.world.handle(await desk.world.publish(b"Some text."))
    before = desk.world.last(RevisionReady)

    await desk.work(wish())

    assert desk.world.told() == ["extracted 1", "ready 1", "ready 1"]
    assert desk.world.last(RevisionReady) == before


@pytest.mark.req("CL-6")
async def test_bytes_that_were_lost_are_made_again(desk: Desk) -> None:
    await desk.world.handle(await desk.world.publish(b"Some text."))
    ready = desk.world.last(RevisionReady)
    assert isinstance(ready, RevisionReady)
    await desk.world.blobs.delete(SOURCE.tenant, ready.manifest_sha256)

    await desk.work(wish())

    assert await desk.world.blobs.exists(SOURCE.tenant, ready.manifest_sha256)
    assert desk.world.told()[-1] == "ready 1"


@pytest.mark.req("CL-6")
async def test_a_failed_revision_gets_another_chance(desk: Desk) -> None:
    event = await desk.world.publish(b"Some text.")
    ((content, data),) = list(desk.world.blobs.stored.items())
    del desk.world.blobs.stored[content]
    await desk.world.handle(event)
    assert desk.world.told()[-1].startswith("failed 1")
    await desk.work(wish(request_id="r0"))
    assert desk.world.told()[-1].startswith("failed 1")
    desk.world.blobs.stored[content] = data

    await desk.work(wish())

    assert desk.world.told()[-2:] == ["extracted 1", "ready 1"]


@pytest.mark.req("CL-4", "CL-6")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_a_refresh_never_revives_what_was_withdrawn(desk: Desk, revision: int) -> None:
    await desk.world.handle(await desk.world.publish(b"Some text."))
    desk.world.record(RevisionWithdrawn())

    await desk.work(wish(revision))

    assert desk.world.standings() == {1: "excluded"}
    assert desk.world.told()[-1] == "excluded 1 withdrawn"


async def test_a_revision_that_does_not_serve_is_not_announced(desk: Desk) -> None:
    for text in (b"Some text.", b"Other text."):
        await desk.world.handle(await desk.world.publish(text))
    before = desk.world.told()

    await desk.work(wish(1), wish(7))

    assert desk.world.told() == before


@pytest.mark.req("CL-4")
async def test_reconciling_finishes_what_no_delivery_did(desk: Desk) -> None:
    await desk.world.publish(b"Some text.")
    assert desk.world.told() == []

    await desk.work(wish(WHOLE))

    assert desk.world.told() == ["pending 1", "extracted 1", "ready 1"]


async def test_an_unknown_source_ends_its_wish_and_blocks_nothing(desk: Desk) -> None:
    empty = Desk(World(SOURCE))

    await empty.work(wish(WHOLE), wish())

    assert len(empty.wishes.ended) == 2
    assert empty.world.told() == []


@pytest.mark.req("EV-6")
async def test_a_wish_that_meets_an_outage_is_given_back(desk: Desk) -> None:
    await desk.world.handle(await desk.world.publish(b"Some text."))
    desk.world.crashes = frozenset({desk.world.steps + 1})
    desk.wishes.waiting.append(wish())
    with pytest.raises(Unavailable):
        await desk.refreshing.run()
    assert desk.wishes.ended == []

    await desk.work()

    assert desk.world.told()[-2:] == ["ready 1", "ready 1"]


@pytest.mark.req("CL-6")
async def test_another_request_within_the_minute_is_refused_and_a_repeat_is_not(
    desk: Desk,
) -> None:
    body = RefreshRevision(key=SOURCE.key, revision=1)

    first = await desk.refreshing.refresh(request(body, "one"))
    again = await desk.refreshing.refresh(request(body, "one"))
    with pytest.raises(RefreshedRecently) as refused:
        await desk.refreshing.refresh(request(body, "two"))
    whole = ReconcileSource(key=SOURCE.key)
    other = await desk.refreshing.reconcile(request(whole, "three"))

    assert (first.is_new, again.is_new, other.is_new) == (True, False, True)
    assert "60 s" in refused.value.detail
    assert [(each.ref, each.revision) for each in desk.wishes.waiting] == [
        (SOURCE, 1),
        (SOURCE, WHOLE),
    ]
