"""Wishes in the database: one a minute, taken by one at a time, done once."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import asyncpg
import pytest

from chancery.indexing.adapters.wishes import PostgresWishes
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.domain.wishes import LEASE_S, WHOLE, Wish
from chancery.indexing.errors import RefreshedRecently
from chancery.store.pool import open_pool
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

PAST_LEASE_S = int(LEASE_S) + 1
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
    await pass_time(database, PAST_LEASE_S)
    again = [await wishes.take() for _ in range(2)]
    await wishes.give_back(whole)
    back = await wishes.take()
    await wishes.end(whole)
    await pass_time(database, PAST_LEASE_S)

    assert taken == [one, whole, None]
    assert again == [whole, None]
    assert back == whole
    assert await wishes.take() is None


async def test_tenants_take_turns_however_much_one_of_them_wishes(wishes: PostgresWishes) -> None:
    many = [Wish(REF, number, f"r{number}") for number in range(1, 4)]
    other = Wish(ResourceRef("birch", "source", "key"), 1, "r")
    for each in [*many, other]:
        await wishes.record(each)

    taken, served = list[Wish | None](), list[str]()
    for _ in range(5):
        one = await wishes.take(served)
        taken.append(one)
        served = (
            [] if one is None else [*(t for t in served if t != one.ref.tenant), one.ref.tenant]
        )

    assert taken == [many[0], other, many[1], many[2], None]


@pytest.mark.req("EV-6")
async def test_a_newer_wish_waits_for_the_one_in_work_and_is_not_ended_with_it(
    wishes: PostgresWishes, database: Database
) -> None:
    old, new = Wish(REF, 1, "old"), Wish(REF, 1, "new")
    await wishes.record(old)
    assert await wishes.take() == old
    await pass_time(database, 61)
    await wishes.record(new)

    meanwhile = await wishes.take()
    await wishes.end(old)

    assert meanwhile is None
    assert await wishes.take() == new


@pytest.mark.req("EV-6")
async def test_a_wish_is_kept_as_long_as_it_is_renewed_and_belongs_to_one_process(
    wishes: PostgresWishes, database: Database
) -> None:
    other, one = PostgresWishes(wishes.pool), Wish(REF, 1, "one")
    await wishes.record(one)
    assert await wishes.take() == one
    await pass_time(database, PAST_LEASE_S - 2)
    kept = await wishes.renew(one)
    await pass_time(database, PAST_LEASE_S - 2)
    meanwhile = await other.take()
    await pass_time(database, 2)
    after = await other.take()

    lost = await wishes.renew(one)
    await wishes.give_back(one)
    await wishes.end(one)

    assert (kept, meanwhile, after, lost) == (True, None, one, False)
    assert await wishes.take() is None
    assert await other.renew(one)
    await other.give_back(one)
    assert await wishes.take() == one
