"""Several replicas, each with an index of its own; and an index that is lost, or wished anew."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from chancery.bus import provision
from chancery.events.topology import consumers
from chancery.evidence.scope import ScopeEntry
from chancery.kernel.errors import Unavailable
from chancery.testkit.folders import take_away
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.indexing.harness import Place, open_log, running
from tests.integration.retrieval.harness import TENANT, Desk

pytestmark = pytest.mark.integration

_TEXT = "Team Alpha owns the quarterly service reviews."
_QUERY = "service reviews"


@pytest.fixture
def place(nats_url: str, database: Database, tmp_path: Path) -> Place:
    return Place(nats_url, database, tmp_path)


@pytest.fixture
async def desk(place: Place) -> AsyncGenerator[Desk]:
    async with open_log(place) as log:
        yield Desk(log)


def replica(place: Place, number: int) -> AbstractContextManager[ForkServerProcess]:
    """Run a replica with a data folder of its own over the same blobs."""
    own = {"CHANCERY_REPLICA": str(number), "CHANCERY_DATA_DIR": str(_folder(place, number))}
    return running("retrieval", place, **own)


async def found(desk: Desk, *entries: ScopeEntry) -> int:
    return len((await desk.search(_QUERY, *entries)).hits)


@pytest.mark.req("CL-4")
async def test_each_replica_reads_the_index_log_by_itself(desk: Desk, place: Place) -> None:
    plan = provision.Plan(consumers=consumers(retrieval_replicas=2))
    await provision.apply(desk.log.connection, plan)
    ref = await desk.log.declare()
    with running("indexing", place):
        await desk.log.publish(ref, _TEXT.encode())
        entry = await desk.ready(ref)

        with replica(place, 0), replica(place, 1) as second:
            for number in (0, 1):
                meta = _folder(place, number) / "index" / TENANT / "meta.json"
                await eventually(meta.exists, within_s=60)
            assert await eventually(lambda: _complete(desk, entry), within_s=60)
            both = [await found(desk, entry) for _ in range(10)]
            gathered = [await desk.ask(_QUERY, entry) for _ in range(4)]
            second.kill()
            second.join(30)
            alone = [await found(desk, entry) for _ in range(5)]
            other = await desk.log.declare("other")
            await desk.log.publish(other, _TEXT.encode())
            late = await desk.ready(other)
            more = await eventually(lambda: _complete(desk, entry, late))
        with replica(place, 1):
            assert await eventually(lambda: _complete(desk, entry, late), within_s=60)

    assert both == [1] * 10
    assert [len(each.passages) for each in gathered] == [1] * 4
    assert (alone, more) == ([1] * 5, True)


async def test_a_replica_without_readers_says_how_they_are_made(desk: Desk, place: Place) -> None:
    del desk
    with replica(place, 5) as process:
        assert await eventually(lambda: process.exitcode is not None, within_s=60)

    assert process.exitcode != 0
    told = (place.folder / "retrieval.log").read_text("utf-8")
    assert "streams apply --replicas-of-retrieval 6" in told


async def test_a_folder_that_is_taken_from_the_running_service_is_built_again(
    desk: Desk, place: Place
) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _TEXT.encode())
        entry = await desk.ready(ref)
        before = await eventually(lambda: _complete(desk, entry))

        take_away(place.folder / "index")

        await eventually((place.folder / "index" / TENANT / "meta.json").exists, within_s=60)
        again = await eventually(lambda: _complete(desk, entry), within_s=60)

    assert (before, again) == (True, True)


async def test_a_damaged_index_is_noticed_at_the_start_and_built_again(
    desk: Desk, place: Place
) -> None:
    ref = await desk.log.declare()
    with running("indexing", place):
        with running("retrieval", place):
            await desk.log.publish(ref, _TEXT.encode())
            entry = await desk.ready(ref)
            before = await eventually(lambda: _complete(desk, entry))
        damaged = list((place.folder / "index" / TENANT).glob("*.fast"))
        for path in damaged:
            path.write_bytes(bytes(path.stat().st_size))
        with running("retrieval", place):
            again = await eventually(lambda: _complete(desk, entry), within_s=60)

    assert damaged
    assert (before, again) == (True, True)


async def test_a_wished_rebuild_is_searched_all_the_while(desk: Desk, place: Place) -> None:
    ref = await desk.log.declare()
    with running("indexing", place), running("retrieval", place):
        await desk.log.publish(ref, _TEXT.encode())
        entry = await desk.ready(ref)
        assert await eventually(lambda: _complete(desk, entry))
        old = {path.name for path in (place.folder / "index" / TENANT).glob("*.fast")}
        wish = place.folder / "index-rebuild"
        wish.touch()
        during: list[int] = []

        async def ended() -> bool:
            during.append(await found(desk, entry))
            return not wish.exists()

        assert await eventually(ended, within_s=90)
        new = {path.name for path in (place.folder / "index" / TENANT).glob("*.fast")}
        other = await desk.log.declare("other")
        await desk.log.publish(other, _TEXT.encode())
        late = await desk.ready(other)
        after = await eventually(lambda: _complete(desk, entry, late))

    assert set(during) == {1}
    assert new
    assert new.isdisjoint(old)
    assert after


def _folder(place: Place, number: int) -> Path:
    return place.folder / f"replica{number}"


async def _complete(desk: Desk, *entries: ScopeEntry) -> bool:
    """Tell whether everything is found; a service that starts or builds finds less."""
    try:
        result = await desk.search(_QUERY, *entries)
    except Unavailable:
        return False
    return len(result.hits) == len(entries) and result.unconfirmed == ()
