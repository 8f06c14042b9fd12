"""Parked messages: what no retry can help waits in the database for an operator.

Every service with a schema copies the table from `sql/parked.sql` of this package into its first
migration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from chancery.bus.load import Stored
from chancery.events.topology import Service
from chancery.kernel.errors import Unavailable
from chancery.store.pool import Pool, transaction
from chancery.store.queries import load_queries

_QUERIES: Final = load_queries("chancery.runtime")
_USE_SCHEMA: Final = _QUERIES["use_schema"]
_PARK: Final = _QUERIES["park"]


@dataclass(frozen=True, slots=True)
class ParkedMessage:
    """A message that is set aside; `reason` is a stable code."""

    stream: str
    consumer: str
    stored: Stored
    reason: str
    attempts: int
    tenant: str | None


class Parking(Protocol):
    """Where a worker puts what it must not try again."""

    async def park(self, message: ParkedMessage) -> None:
        """Store the message durably; a second call for the same position changes nothing.

        Raises:
            Unavailable: it could not be stored; the message must not be rejected then.
        """
        ...


@dataclass(frozen=True, slots=True)
class PostgresParking:
    """The `parked` table of one service's schema."""

    pool: Pool
    schema: Service

    async def park(self, message: ParkedMessage) -> None:
        """Insert one row, or leave the one that is there."""
        stored = message.stored
        async with transaction(self.pool) as connection:
            await connection.execute(_USE_SCHEMA, self.schema)
            await connection.execute(
                _PARK,
                message.tenant,
                message.stream,
                stored.sequence,
                message.consumer,
                stored.subject,
                stored.message_id,
                message.reason,
                message.attempts,
                stored.payload,
            )


@dataclass(frozen=True, slots=True)
class NoParking:
    """For a service without workers: parking is a bug there, so it fails and is retried."""

    async def park(self, message: ParkedMessage) -> None:
        """Refuse."""
        text = f"{message.consumer} has no place to park messages"
        raise Unavailable(text, code="no_parking")


def tenant_of(subject: str) -> str | None:
    """Return the tenant in the second token of a stored subject, None when it has none."""
    tokens = subject.split(".")
    return tokens[1] if len(tokens) > 1 else None
