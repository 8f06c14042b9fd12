"""The shapes of the topology's rows: streams, consumers, event types, requests and signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Service = Literal["gateway", "ingestion", "indexing", "retrieval", "execution", "release"]
SERVICES: Final[tuple[Service, ...]] = (
    "gateway",
    "ingestion",
    "indexing",
    "retrieval",
    "execution",
    "release",
)

Producer = Service | Literal["edge"]
"""Who produces an event type; the edge are services of others, which only submit."""


Client = Service | Literal["operator"]
"""Who may ask; the operator logs in as the one who provisions, no service does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as it has to be: file storage, discard new, deny delete and purge.

    `max_age_s` 0 keeps for ever, `subject_messages_max` the newest of each subject, None all of
    them. `duplicate_window_s` is at least 0.1, below which the server goes for no stream.
    `append_only` streams refuse deletes and purges. What is stored is told on `republished_to` as
    well, for those who listen across an account's border.
    """

    name: str
    subjects: tuple[str, ...]
    description: str
    max_age_s: int = 0
    append_only: bool = True
    allow_atomic: bool = True
    allow_msg_ttl: bool = False
    allow_direct: bool = False
    duplicate_window_s: float = 120
    subject_messages_max: int | None = None
    republished_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A durable pull consumer; a `reader` acknowledges nothing and is reset at each start.

    `ack_wait_s` and `max_ack_pending` hold for workers only.
    """

    name: str
    stream: str
    service: Service
    subjects: tuple[str, ...]
    reader: bool = False
    ack_wait_s: float = 30
    max_ack_pending: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """An event type: where it is stored, who produces it, who consumes it."""

    type: str
    stream: str
    subject: str
    producer: Producer
    consumers: tuple[Producer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTopic:
    """A request/reply subject: who answers, who may ask, and the models of both directions.

    `request` and `reply` name classes of chancery.events.commands, queries or search.
    """

    subject: str
    server: Service
    clients: tuple[Client, ...]
    request: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A core NATS subject that only hastens what would be seen anyhow; losing one loses nothing."""

    subject: str
    producer: Service
    consumers: tuple[Service, ...]
