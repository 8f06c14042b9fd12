"""Revisions that are extracted by themselves, in the database: in turn, by one process each."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import asyncpg
import pytest

from chancery.indexing.adapters.slow_queue import PostgresSlowQueue
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import TAKEN_S, SlowRevision
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database

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
        TAKEN_S + 1,
    )
    await owner.close()
    lost = await queue.take(["acme"])
    await queue.end(one)

    assert (first, second, again, lost) == (one, None, one, one)
    assert await queue.take([]) is None
