"""Connections to a real PostgreSQL: bounds, transactions, and what each failure becomes."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from chancery.kernel.errors import Conflict, Unavailable
from chancery.store.pool import (
    NotDurable,
    Pool,
    PoolLimits,
    borrow,
    check_durability,
    connect,
    open_pool,
    transaction,
)
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

SMALL = PoolLimits(connections_max=2, statement_timeout_s=1.0, lock_timeout_s=0.2)


async def test_leaving_commits_and_an_error_rolls_back(empty_database: Database) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test")
    async with pool:
        async with transaction(pool) as connection:
            await connection.execute("CREATE TABLE public.kept (id integer)")
        with pytest.raises(ValueError, match="stop"):
            await _insert_and_fail(pool)

        async with borrow(pool) as connection:
            assert await connection.fetchval("SELECT count(id) FROM public.kept") == 0


async def test_json_columns_carry_json_values(empty_database: Database) -> None:
    value = {"name": "Grüße", "counts": [1, 2.5, None, True]}

    async with connect(empty_database.superuser_dsn, name="test") as connection:
        assert await connection.fetchval("SELECT $1::jsonb", value) == value


@pytest.mark.parametrize("setting", ["off", "local", "remote_write"])
async def test_a_server_that_may_forget_a_commit_is_refused(
    empty_database: Database, setting: str
) -> None:
    async with connect(empty_database.superuser_dsn, name="test") as connection:
        await connection.execute(f"SET synchronous_commit = {setting}")

        with pytest.raises(NotDurable, match=f"synchronous_commit is {setting}"):
            await check_durability(connection)
        await connection.execute("SET synchronous_commit = on")
        await check_durability(connection)


async def test_a_statement_that_takes_too_long_is_unavailable(empty_database: Database) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test", limits=SMALL)
    async with pool:
        with pytest.raises(Unavailable):
            async with borrow(pool) as connection:
                await connection.execute("SELECT pg_sleep(5)")


async def test_an_exhausted_pool_is_unavailable(empty_database: Database) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test", limits=SMALL)
    async with pool, borrow(pool), borrow(pool):
        with pytest.raises(Unavailable):
            async with borrow(pool, acquire_timeout_s=0.05):
                pass


async def test_a_killed_connection_is_unavailable_and_the_pool_recovers(
    empty_database: Database,
) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test", limits=SMALL)
    async with pool:
        with pytest.raises(Unavailable):
            await _lose_the_connection(pool)

        async with transaction(pool) as connection:
            assert await connection.fetchval("SELECT 1") == 1


async def test_a_deadlock_is_a_conflict(empty_database: Database) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test", limits=SMALL)
    async with pool:
        async with borrow(pool) as connection:
            await connection.execute("SET deadlock_timeout = '10ms'")
        met = asyncio.Barrier(2)

        async def lock(first: int, second: int) -> str:
            async with transaction(pool) as connection:
                await connection.execute("SET LOCAL lock_timeout = 0")
                await connection.execute("SET LOCAL statement_timeout = 0")
                await connection.execute("SET LOCAL deadlock_timeout = '20ms'")
                await connection.execute("SELECT pg_advisory_xact_lock($1)", first, timeout=30)
                await met.wait()
                await connection.execute("SELECT pg_advisory_xact_lock($1)", second, timeout=30)
            return "done"

        results = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)

    assert [type(result) for result in results if result != "done"] == [Conflict]


async def test_a_violated_constraint_reaches_the_author_of_the_statement(
    empty_database: Database,
) -> None:
    pool = await open_pool(empty_database.superuser_dsn, name="test")
    async with pool:
        with pytest.raises(asyncpg.UniqueViolationError):
            await _insert_twice(pool)


@pytest.mark.parametrize("change", ["port", "database"])
async def test_an_unreachable_database_is_unavailable_in_one_sentence(
    empty_database: Database, change: str
) -> None:
    dsn = empty_database.superuser_dsn
    if change == "port":
        dsn = "postgresql://postgres:secret-word@127.0.0.1:1/postgres"
    else:
        dsn = dsn.replace(empty_database.name, "absent")

    with pytest.raises(Unavailable) as caught:
        await open_pool(dsn, name="test", limits=SMALL)

    assert "secret-word" not in caught.value.detail
    assert "\n" not in caught.value.detail


async def _insert_and_fail(pool: Pool) -> None:
    async with transaction(pool) as connection:
        await connection.execute("INSERT INTO public.kept VALUES (1)")
        message = "stop"
        raise ValueError(message)


async def _lose_the_connection(pool: Pool) -> None:
    async with transaction(pool) as connection:
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        async with borrow(pool) as killer:
            await killer.execute("SELECT pg_terminate_backend($1, 1000)", pid)
        await connection.execute("SELECT 1")


async def _insert_twice(pool: Pool) -> None:
    async with transaction(pool) as connection:
        await connection.execute("CREATE TABLE public.once (id integer PRIMARY KEY)")
        await connection.execute("INSERT INTO public.once VALUES (1), (1)")
