"""The state of a durable consumer on the server: does it exist, how far is it, what waits."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from chancery.bus.connection import ApiRefused, Connection
from chancery.bus.pull import ConsumerLost
from chancery.events.topology import Consumer


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """What the server says; `pending` were never delivered, `ack_pending` are being handled."""

    ack_wait_s: float
    pending: int
    ack_pending: int
    redelivered: int
    delivered: int
    delivered_stream_sequence: int


class _Sequences(BaseModel):
    consumer_seq: int = 0
    stream_seq: int = 0


class _Config(BaseModel):
    ack_wait: int = 0


class _InfoReply(BaseModel):
    config: _Config
    delivered: _Sequences
    num_pending: int = 0
    num_ack_pending: int = 0
    num_redelivered: int = 0


async def consumer_state(
    connection: Connection, consumer: Consumer, *, timeout_s: float = 5.0
) -> ConsumerState:
    """Return the consumer's state.

    Raises:
        ConsumerLost: it does not exist.
        Unavailable: the server did not answer in time.
    """
    verb = f"CONSUMER.INFO.{consumer.stream}.{consumer.name}"
    try:
        reply = await connection.api(verb, None, _InfoReply, timeout_s=timeout_s)
    except ApiRefused as error:
        message = f"the consumer {consumer.name} of {consumer.stream} does not exist"
        raise ConsumerLost(message) from error
    return ConsumerState(
        ack_wait_s=reply.config.ack_wait / 1_000_000_000,
        pending=reply.num_pending,
        ack_pending=reply.num_ack_pending,
        redelivered=reply.num_redelivered,
        delivered=reply.delivered.consumer_seq,
        delivered_stream_sequence=reply.delivered.stream_seq,
    )
