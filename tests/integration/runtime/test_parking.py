"""Parked messages in a real database: whole, once, in the service's own schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
import pytest

from chancery.bus.load import Stored
from chancery.kernel.errors import Unavailable
from chancery.runtime.parking import NoParking, ParkedMessage, PostgresParking
from chancery.store.pool import Pool, open_pool
from chancery.store.queries import load_queries
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

CREATE = load_queries("chancery.runtime")["create_parked"]
MESSAGE = ParkedMessage(
    stream="RUNS",
    consumer="release-cancelled",
    stored=Stored(
        sequence=7,
        subject="run.t1.r1.cancelled",
        payload=b"\x00\xff{",
        time=datetime(2026, 1, 2, tzinfo=UTC),
        message_id=None,
    ),
    reason="malformed_event",
    attempts=3,
    tenant="t1",
)


@pytest.fixture
async def pool(empty_database: Database) -> AsyncGenerator[Pool]:
    """Yield a pool on a database with the documented table in the schema `indexing`."""
    opened = await open_pool(empty_database.superuser_dsn, name="tests")
    async with opened:
        await opened.execute("CREATE SCHEMA indexing; SET search_path = indexing; " + CREATE)
        yield opened


async def test_a_parked_message_is_stored_whole(pool: Pool) -> None:
    await PostgresParking(pool, "indexing").park(MESSAGE)

    row = await pool.fetchrow("SELECT * FROM indexing.parked")
    assert row is not None
    assert (row["tenant"], row["stream"], row["sequence"]) == ("t1", "RUNS", 7)
    assert (row["reason"], row["attempts"], row["message_id"]) == ("malformed_event", 3, None)
    assert row["payload"] == MESSAGE.stored.payload
    assert row["resolved_at"] is None


async def test_a_message_is_parked_once_per_consumer(pool: Pool) -> None:
    parking = PostgresParking(pool, "indexing")

    await parking.park(MESSAGE)
    await parking.park(replace(MESSAGE, attempts=4))
    await parking.park(replace(MESSAGE, consumer="release-activity"))

    assert await pool.fetchval("SELECT count(*) FROM indexing.parked") == 2


async def test_a_missing_table_fails_so_that_the_message_is_kept(pool: Pool) -> None:
    await pool.execute("DROP SCHEMA indexing CASCADE")

    with pytest.raises(asyncpg.UndefinedTableError):
        await PostgresParking(pool, "indexing").park(MESSAGE)


async def test_a_service_without_a_table_cannot_park() -> None:
    with pytest.raises(Unavailable):
        await NoParking().park(MESSAGE)
