"""Where the authority log ends: the leader's answer on one node, a fence on replicated streams.

After a reconnect nobody is told an end until the projector has found the log to be the right one.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from pydantic import BaseModel

from chancery.bus.connection import Connection
from chancery.bus.load import last_sequence
from chancery.bus.publish import publish
from chancery.events.authority import FenceRaised
from chancery.events.envelope import Envelope, Event
from chancery.events.topology import AUTHORITY, FENCE_SUBJECT
from chancery.kernel.clock import Clock
from chancery.kernel.ids import random_id
from chancery.release.domain.stages import SOURCE
from chancery.release.errors import LogRegressed, LogUnchecked
from chancery.release.ports import ReadEnd
from chancery.release.ports.position import Position

FENCE_TTL_S = 3600
TIMEOUT_S = 2.0
NO_TENANT = "_"


class _Config(BaseModel):
    num_replicas: int = 1


class _StreamInfo(BaseModel):
    config: _Config
    created: datetime


async def log_end_reader(connection: Connection, clock: Clock, position: Position) -> ReadEnd:
    """Return the read that a barrier rests on, as the stream's replication demands it.

    Raises:
        Unavailable: the stream's leader does not answer.
    """
    info = await connection.api(f"STREAM.INFO.{AUTHORITY}", None, _StreamInfo)
    is_single = info.config.num_replicas == 1
    ask = (
        ask_leader(connection, info.created)
        if is_single
        else partial(raise_fence, connection, clock)
    )

    async def read() -> int:
        end = await ask()
        if connection.generation != position.generation:
            message = "the log has not been compared since the bus was away; retry in a moment"
            raise LogUnchecked(message)
        return end

    return read


def ask_leader(connection: Connection, created: datetime) -> ReadEnd:
    """Return a read of the leader's last sequence: exact on a stream that has one copy."""

    async def read() -> int:
        state = await last_sequence(connection, AUTHORITY, timeout_s=TIMEOUT_S)
        if state.created != created:
            message = "the authority log was created again; nothing of it was read yet"
            raise LogRegressed(message)
        return state.last

    return read


async def raise_fence(connection: Connection, clock: Clock) -> int:
    """Return the position of a fresh fence; it is gone from the log after an hour.

    An old leader may answer a read with a stale end; an acknowledged publish is a quorum write.
    """
    published = await publish(
        connection, FENCE_SUBJECT, _fence(clock), timeout_s=TIMEOUT_S, ttl_s=FENCE_TTL_S
    )
    return published.sequence


def _fence(clock: Clock) -> Event:
    envelope = Envelope(
        id=random_id(),
        source=SOURCE,
        type=FenceRaised.TYPE,
        subject=FENCE_SUBJECT,
        time=clock.now(),
        tenant=NO_TENANT,
    )
    return Event(envelope=envelope, data=FenceRaised())
