"""The outbox: events written in the transaction of the rows they tell of, published after it.

A transaction that began earlier may commit later, so "everything after the last id" skips rows. The
reader therefore takes only rows of transactions below the horizon `pg_snapshot_xmin(
pg_current_snapshot())`: all of those have ended, and nothing can appear among them any more.

A service brings its own table and two statements::

    CREATE TABLE release.outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        event_id text NOT NULL, subject text NOT NULL, body bytea NOT NULL,
        published_at timestamptz);

    -- name: read_outbox
    -- The oldest rows that are not yet published and that nothing can still precede.
    SELECT id, event_id, subject, body FROM release.outbox
    WHERE published_at IS NULL AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, id LIMIT $1;

    -- name: mark_published
    -- Remember that these rows are on the bus.
    UPDATE release.outbox SET published_at = clock_timestamp() WHERE id = ANY ($1::bigint[]);
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from chancery.store.pool import Connection, Pool, borrow
from chancery.store.queries import load_queries

_QUERIES = load_queries("chancery.store")
_TRY_LOCK_OUTBOX = _QUERIES["try_lock_outbox"]
_UNLOCK_OUTBOX = _QUERIES["unlock_outbox"]

Publish = Callable[[Sequence["OutboxRow"]], Awaitable[int]]
"""Publishes rows in order and returns how many, from the first on, the bus has acknowledged.

It raises when there was none."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One event waiting for the bus; `event_id` is its message id there."""

    id: int
    event_id: str
    subject: str
    body: bytes


@dataclass(frozen=True, slots=True)
class OutboxStatements:
    """The two statements of a service's outbox; see the module's docstring for their shape."""

    read: str
    mark_published: str


@dataclass(frozen=True, slots=True)
class Outbox:
    """Moves rows from a service's outbox to the bus: at least once, and in order.

    `name` identifies the outbox in the database: one relay at a time works on it.
    """

    pool: Pool
    name: str
    statements: OutboxStatements

    async def relay(self, publish: Publish, *, limit: int = 100) -> int:
        """Publish up to `limit` waiting rows, then mark them; return how many.

        Returns 0 at once while another relay is at work. What `publish` did not come to waits for
        the next call. A crash between publishing and marking publishes again with the same
        `event_id`.

        Raises:
            Unavailable: when the database is away.
            Exception: whatever `publish` raised; nothing was marked.
        """
        async with borrow(self.pool) as connection:
            if not await connection.fetchval(_TRY_LOCK_OUTBOX, self.name):
                return 0
            try:
                return await self._relay(connection, publish, limit)
            finally:
                await _unlock(connection, self.name)

    async def _relay(self, connection: Connection, publish: Publish, limit: int) -> int:
        # No transaction is open while the bus is waited for: it would hold back the horizon of
        # every other reader.
        records = await connection.fetch(self.statements.read, limit)
        rows = [OutboxRow(r["id"], r["event_id"], r["subject"], r["body"]) for r in records]
        if not rows:
            return 0
        published = await publish(rows)
        ids = [row.id for row in rows[:published]]
        await connection.execute(self.statements.mark_published, ids)
        return published


async def _unlock(connection: PoolConnectionProxy[asyncpg.Record], name: str) -> None:
    """Give the lock up; a session that cannot say so is ended, and its lock with it."""
    try:
        await connection.execute(_UNLOCK_OUTBOX, name)
    except BaseException:
        connection.terminate()
        raise
