"""A canonical form that is gone makes its revision unavailable until it can be had again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from chancery.events.authority import RevisionWithdrawn
from chancery.events.index import RevisionReady
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import WHOLE
from chancery.indexing.handlers.recovering import Recovering
from chancery.kernel.errors import Unavailable
from tests.unit.indexing.test_refreshing import Desk, wish
from tests.unit.indexing.world import SOURCE, World, declared_source

LOST = "unavailable 1 extraction_missing"
TEXT = b"The town hall opens at nine."


@dataclass(frozen=True, slots=True)
class MemoryLostForms:
    """The `LostForms` of a world."""

    world: World

    async def sample(self, limit: int) -> Sequence[ResourceRef]:
        assert limit > 0
        is_lost = "unavailable" in self.world.standings().values()
        return [self.world.ref] if is_lost else []


@dataclass(frozen=True, slots=True)
class Shelf:
    """A revision that is ready, and where its bytes can be taken away and put back."""

    desk: Desk
    stored: dict[str, bytes]

    @property
    def world(self) -> World:
        return self.desk.world

    def lose(self) -> None:
        """Take every blob away."""
        self.world.blobs.stored.clear()

    def restore(self, *hashes: str) -> None:
        """Put these blobs back, all when none is named."""
        kept = {
            name: data for name, data in self.stored.items() if not hashes or name.endswith(hashes)
        }
        self.world.blobs.stored.update(kept)

    async def look(self) -> None:
        """Play a round of looking for what is lost, in a process that has just started."""
        await self.process().look_for_all()

    def process(self) -> Recovering:
        """Return what a process looks with."""
        parts = self.world.publications
        lost = MemoryLostForms(self.world)
        return Recovering(lost, parts.announcements, parts.extraction, parts.slowly)


@pytest.fixture
async def shelf() -> Shelf:
    world = World(SOURCE)
    world.record(declared_source())
    await world.handle(await world.publish(TEXT))
    assert world.told()[-1] == "ready 1"
    return Shelf(Desk(world), dict(world.blobs.stored))


@pytest.mark.req("CL-1")
@pytest.mark.parametrize("revision", [1, WHOLE])
async def test_a_form_that_is_gone_for_good_is_unavailable_and_not_failed(
    shelf: Shelf, revision: int
) -> None:
    shelf.lose()

    await shelf.desk.work(wish(revision))
    await shelf.desk.work(wish(revision, "r2"))
    await shelf.look()

    assert shelf.world.told() == [*before(shelf), LOST]


@pytest.mark.req("CL-1")
async def test_it_is_ready_by_itself_once_the_form_is_back(shelf: Shelf) -> None:
    ready = shelf.world.last(RevisionReady)
    shelf.lose()
    await shelf.desk.work(wish())
    shelf.restore()

    await shelf.look()
    await shelf.look()

    assert shelf.world.told() == [*before(shelf), LOST, "ready 1"]
    assert shelf.world.last(RevisionReady) == ready


@pytest.mark.req("CL-1")
async def test_it_is_made_again_once_the_published_bytes_are_back(shelf: Shelf) -> None:
    ready = shelf.world.last(RevisionReady)
    assert isinstance(ready, RevisionReady)
    shelf.lose()
    await shelf.desk.work(wish())
    shelf.restore(ready.content_sha256)
    assert len(shelf.world.blobs.stored) == 1

    await shelf.look()

    assert shelf.world.told()[-2:] == [LOST, "ready 1"]
    assert await shelf.world.blobs.exists(SOURCE.tenant, ready.extraction_sha256)
    assert await shelf.world.blobs.exists(SOURCE.tenant, ready.manifest_sha256)


@pytest.mark.req("CL-1", "EV-6")
async def test_it_can_be_lost_and_found_again_and_each_time_is_an_event_of_its_own(
    shelf: Shelf,
) -> None:
    for turn in range(3):
        shelf.lose()
        await shelf.desk.work(wish(request_id=f"r{turn}"))
        shelf.restore()
        await shelf.look()

    told = shelf.world.told()
    assert told == [*before(shelf), *3 * (LOST, "ready 1")]
    ids = [event.envelope.id for _, event in shelf.world.index]
    assert len(set(ids)) == len(ids)


@pytest.mark.req("CL-1", "CL-4")
async def test_what_was_withdrawn_meanwhile_is_not_brought_back(shelf: Shelf) -> None:
    shelf.lose()
    await shelf.desk.work(wish())
    shelf.world.record(RevisionWithdrawn())
    shelf.restore()

    await shelf.look()

    assert shelf.world.told()[-2:] == [LOST, "excluded 1 withdrawn"]


@pytest.mark.req("CL-1", "EV-6")
@pytest.mark.parametrize("step", range(1, 6))
async def test_a_crash_anywhere_tells_it_once(shelf: Shelf, step: int) -> None:
    shelf.lose()
    shelf.world.crashes = frozenset({shelf.world.steps + step})
    shelf.desk.wishes.waiting.append(wish())
    with pytest.raises(Unavailable):
        await shelf.desk.refreshing.run()

    await shelf.desk.work()

    assert shelf.world.told() == [*before(shelf), LOST]


def before(shelf: Shelf) -> list[str]:
    """Return what was told before anything was lost."""
    told = shelf.world.told()
    return told[: told.index("ready 1") + 1]
