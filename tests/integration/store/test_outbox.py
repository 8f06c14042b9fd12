"""The outbox on a real PostgreSQL: nothing is skipped, nothing is lost, the order holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from chancery.kernel.errors import Unavailable
from chancery.store.outbox import Outbox, OutboxRow, OutboxStatements
from chancery.store.pool import Connection, Pool, borrow, connect, open_pool, transaction
from chancery.testkit.postgres import Database

pytestmark = pytest.mark.integration

TABLE = """
    CREATE TABLE public.outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        event_id text NOT NULL, subject text NOT NULL, body bytea NOT NULL,
        published_at timestamptz)
"""
INSERT = "INSERT INTO public.outbox (event_id, subject, body) VALUES ($1, 'subject', 'body')"
STATEMENTS = OutboxStatements(
    read="""
        SELECT id, event_id, subject, body FROM public.outbox
        WHERE published_at IS NULL AND xid < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY xid, id LIMIT $1
    """,
    mark_published="""
        UPDATE public.outbox SET published_at = clock_timestamp() WHERE id = ANY ($1::bigint[])
    """,
)


class Bus:
    """Remembers what was published; can be away."""

    def __init__(self) -> None:
        self.published: list[str] = []
        self.fails_at: str | None = None

    async def publish(self, rows: Sequence[OutboxRow]) -> int:
        ids = [row.event_id for row in rows]
        reached = ids if self.fails_at is None else ids[: ids.index(self.fails_at)]
        if not reached:
            message = "the bus is away"
            raise Unavailable(message)
        self.published += reached
        return len(reached)


@pytest.fixture
async def pool(empty_database: Database) -> AsyncGenerator[Pool]:
    async with await open_pool(empty_database.superuser_dsn, name="test") as pool:
        async with borrow(pool) as connection:
            await connection.execute(TABLE)
        yield pool


async def _add(connection: Connection, *event_ids: str) -> None:
    for event_id in event_ids:
        await connection.execute(INSERT, event_id)


async def test_rows_are_published_once_in_order(pool: Pool) -> None:
    bus, outbox = Bus(), Outbox(pool, "test", STATEMENTS)
    async with transaction(pool) as connection:
        await _add(connection, "a", "b")
    async with transaction(pool) as connection:
        await _add(connection, "c")

    counts = [await outbox.relay(bus.publish, limit=2) for _ in range(3)]

    assert bus.published == ["a", "b", "c"]
    assert counts == [2, 1, 0]


@pytest.mark.req("EV-6")
async def test_a_row_of_a_slow_transaction_is_not_skipped(
    pool: Pool, empty_database: Database
) -> None:
    bus, outbox = Bus(), Outbox(pool, "test", STATEMENTS)
    async with connect(empty_database.superuser_dsn, name="slow") as slow:
        async with slow.transaction():
            await _add(slow, "early")
            async with transaction(pool) as connection:
                await _add(connection, "late")
            held_back = await outbox.relay(bus.publish)
        released = await outbox.relay(bus.publish)

    assert (held_back, released) == (0, 2)
    assert bus.published == ["early", "late"]


async def test_a_rolled_back_row_is_never_published(pool: Pool) -> None:
    bus, outbox = Bus(), Outbox(pool, "test", STATEMENTS)
    async with borrow(pool) as connection:
        undone = connection.transaction()
        await undone.start()
        await _add(connection, "never")
        await undone.rollback()
    async with transaction(pool) as connection:
        await _add(connection, "kept")

    await outbox.relay(bus.publish)

    assert bus.published == ["kept"]


async def test_a_failing_bus_loses_nothing_and_repeats_nothing(pool: Pool) -> None:
    bus, outbox = Bus(), Outbox(pool, "test", STATEMENTS)
    async with transaction(pool) as connection:
        await _add(connection, "a", "b", "c")
    bus.fails_at = "b"

    before = await outbox.relay(bus.publish)
    with pytest.raises(Unavailable):
        await outbox.relay(bus.publish)
    bus.fails_at = None
    after = await outbox.relay(bus.publish)

    assert (before, after) == (1, 2)
    assert bus.published == ["a", "b", "c"]


async def test_only_one_relay_works_at_a_time(pool: Pool) -> None:
    bus, outbox = Bus(), Outbox(pool, "test", STATEMENTS)
    async with transaction(pool) as connection:
        await _add(connection, "a")
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slowly(rows: Sequence[OutboxRow]) -> int:
        entered.set()
        await leave.wait()
        return await bus.publish(rows)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(outbox.relay(slowly))
        await entered.wait()
        second = await outbox.relay(bus.publish)
        leave.set()

    assert (first.result(), second) == (1, 0)
    assert bus.published == ["a"]


async def test_a_waiting_bus_does_not_hold_back_other_readers(pool: Pool) -> None:
    outbox = Outbox(pool, "test", STATEMENTS)
    async with transaction(pool) as connection:
        await _add(connection, "a")
    seen: list[int] = []

    async def look(rows: Sequence[OutboxRow]) -> int:
        async with transaction(pool) as connection:
            await _add(connection, "b")
        async with borrow(pool) as connection:
            seen.append(len(await connection.fetch(STATEMENTS.read, 10)))
        return len(rows)

    await outbox.relay(look)

    assert seen == [2]
