"""Revisions that are extracted by themselves, in the database: in turn, by one process each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

import asyncpg
import pytest

from chancery.indexing.adapters.slow_queue import PostgresSlowQueue
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import LEASE_S, SlowRevision
from chancery.indexing.handlers.leasing import Renewing, hold
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually

pytestmark = pytest.mark.integration


@pytest.fixture
async def queue(database: Database) -> AsyncGenerator[PostgresSlowQueue]:
    async with await open_pool(database.dsn("indexing"), name="tests") as pool:
        yield PostgresSlowQueue(pool)


def slow(tenant: str, key: str, revision: int = 1) -> SlowRevision:
    return SlowRevision(ResourceRef(tenant, "source", key), revision)


async def test_tenants_take_turns_however_much_one_of_them_has_waiting(
    queue: PostgresSlowQueue,
) -> None:
    many = [slow("acme", f"s{number}") for number in range(5)]
    for each in [*many, slow("birch", "b"), slow("cedar", "c")]:
        await queue.record(each)

    served: list[str] = []
    taken: list[SlowRevision | None] = []
    for _ in range(5):
        one = await queue.take(served)
        assert one is not None
        taken.append(one)
        served = [*(each for each in served if each != one.ref.tenant), one.ref.tenant]

    assert taken == [many[0], slow("birch", "b"), slow("cedar", "c"), many[1], many[2]]


@pytest.mark.req("EV-6")
async def test_one_is_taken_once_until_it_is_given_back_or_its_holder_is_gone(
    queue: PostgresSlowQueue, database: Database
) -> None:
    one = slow("acme", "s")
    await queue.record(one)
    await queue.record(one)

    first, second = await queue.take([]), await queue.take([])
    await queue.give_back(one)
    again = await queue.take([])
    owner = await asyncpg.connect(database.superuser_dsn)
    await owner.execute(
        "UPDATE indexing.slow_extraction SET taken_until = taken_until - make_interval(secs => $1)",
        LEASE_S + 1,
    )
    await owner.close()
    lost = await queue.take(["acme"])
    await queue.end(one)

    assert (first, second, again, lost) == (one, None, one, one)
    assert await queue.take([]) is None


@pytest.mark.req("EV-6")
async def test_who_has_lost_a_revision_neither_keeps_nor_ends_nor_gives_it_back(
    queue: PostgresSlowQueue,
) -> None:
    one, brief = slow("acme", "s"), replace(queue, lease_s=0.0)
    await queue.record(one)
    assert await brief.take([]) == one
    other = PostgresSlowQueue(queue.pool)
    assert await other.take([]) == one

    renewed = await brief.renew(one)
    await brief.give_back(one)
    await brief.end(one)

    assert not renewed
    assert await brief.take([]) is None
    assert await other.renew(one)
    await other.end(one)
    assert await replace(brief, lease_s=0.0).take([]) is None


@pytest.mark.req("EV-6", "EV-7")
async def test_work_that_outlasts_its_lease_is_nobody_elses_until_its_process_is_gone(
    queue: PostgresSlowQueue,
) -> None:
    one, looks = slow("acme", "s"), list[SlowRevision | None]()
    own, other = replace(queue, lease_s=2.0), PostgresSlowQueue(queue.pool)
    await queue.record(one)
    assert await own.take([]) == one
    began = asyncio.get_running_loop().time()

    async def look(*, past_s: float) -> bool:
        looks.append(await other.take([]))
        return asyncio.get_running_loop().time() - began > past_s

    async def is_taken() -> bool:
        looks.append(await other.take([]))
        return looks[-1] is not None

    async with asyncio.TaskGroup() as group:
        working = group.create_task(
            hold(asyncio.Event().wait(), lambda: own.renew(one), Renewing(0.1, 0.5))
        )
        await eventually(partial(look, past_s=1.5 * own.lease_s))
        while_alive = list(looks)
        working.cancel()
        await eventually(is_taken)

    assert set(while_alive) == {None}
    assert looks[-1] == one
