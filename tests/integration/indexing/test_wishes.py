"""Wishes in the database: one a minute, taken by one at a time, done once."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import asyncpg
import pytest

from chancery.indexing.adapters.wishes import PostgresWishes
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import WHOLE, Wish
from chancery.indexing.errors import RefreshedRecently
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

REF = ResourceRef("acme", "source", "key")


@pytest.fixture
async def wishes(database: Database) -> AsyncGenerator[PostgresWishes]:
    async with await open_pool(database.dsn("indexing"), name="tests") as pool:
        yield PostgresWishes(pool)


async def pass_time(database: Database, seconds: int) -> None:
    owner = await asyncpg.connect(database.superuser_dsn)
    await owner.execute(
        "UPDATE indexing.wish SET asked_at = asked_at - make_interval(secs => $1),"
        " taken_until = taken_until - make_interval(secs => $1)",
        seconds,
    )
    await owner.close()


@pytest.mark.req("CL-6")
async def test_the_same_is_granted_again_after_a_minute(
    wishes: PostgresWishes, database: Database
) -> None:
    first, second = Wish(REF, 1, "one"), Wish(REF, 1, "two")

    granted = [await wishes.record(first), await wishes.record(Wish(REF, 2, "other"))]
    repeated = await wishes.record(first)
    with pytest.raises(RefreshedRecently):
        await wishes.record(second)
    await pass_time(database, 55)
    with pytest.raises(RefreshedRecently):
        await wishes.record(second)
    await pass_time(database, 6)
    later = await wishes.record(second)

    assert (granted, repeated, later) == ([True, True], False, True)


@pytest.mark.req("EV-6")
async def test_a_wish_is_taken_by_one_and_lost_by_who_dies(
    wishes: PostgresWishes, database: Database
) -> None:
    one, whole = Wish(REF, 1, "one"), Wish(REF, WHOLE, "whole")
    for each in (one, whole):
        await wishes.record(each)

    taken = [await wishes.take() for _ in range(3)]
    await wishes.end(one)
    await pass_time(database, 301)
    again = [await wishes.take() for _ in range(2)]
    await wishes.give_back(whole)
    back = await wishes.take()
    await wishes.end(whole)
    await pass_time(database, 301)

    assert taken == [one, whole, None]
    assert again == [whole, None]
    assert back == whole
    assert await wishes.take() is None


@pytest.mark.req("EV-6")
async def test_who_was_too_slow_does_not_end_a_newer_wish(
    wishes: PostgresWishes, database: Database
) -> None:
    old, new = Wish(REF, 1, "old"), Wish(REF, 1, "new")
    await wishes.record(old)
    assert await wishes.take() == old
    await pass_time(database, 61)
    await wishes.record(new)

    await wishes.end(old)

    assert await wishes.take() == new
