"""topology.json: the one table of streams, consumers, topics and requests, for other programs."""

from __future__ import annotations

from typing import Final

from pydantic import TypeAdapter

from chancery.events.topology import (
    CONSUMERS,
    REQUESTS,
    SERVICES,
    STREAMS,
    TOPICS,
    Consumer,
    RequestTopic,
    Stream,
    Topic,
)
from chancery.kernel.canonical import Json

PATH: Final = "topology.json"

_STREAMS: Final = TypeAdapter(tuple[Stream, ...])
_CONSUMERS: Final = TypeAdapter(tuple[Consumer, ...])
_TOPICS: Final = TypeAdapter(tuple[Topic, ...])
_REQUESTS: Final = TypeAdapter(tuple[RequestTopic, ...])

READ_BY_SUBJECT: Final = frozenset(
    {
        ("execution", "chancery.run.admitted.v1"),
        ("edge", "chancery.intake.accepted.v1"),
        ("edge", "chancery.intake.rejected.v1"),
    }
)
"""Consuming services that ask the stream for one literal subject, so they need no durable."""


def topology() -> dict[str, Json]:
    """Return the table as JSON."""
    return {
        "services": list(SERVICES),
        "streams": _STREAMS.dump_python(STREAMS, mode="json"),
        "consumers": _CONSUMERS.dump_python(CONSUMERS, mode="json"),
        "topics": _TOPICS.dump_python(TOPICS, mode="json"),
        "requests": _REQUESTS.dump_python(REQUESTS, mode="json"),
    }


def covers(pattern: str, subject: str) -> bool:
    """Tell whether every subject that matches `subject` matches `pattern` too.

    `*` stands for one token; `>`, at the end only, for one or more.
    """
    wanted, given = pattern.split("."), subject.split(".")
    for place, token in enumerate(wanted):
        if place >= len(given):
            return False
        if token == ">":
            return True
        if given[place] == ">" or token not in {"*", given[place]}:
            return False
    return len(wanted) == len(given)


def durables(service: str, topic: Topic) -> tuple[Consumer, ...]:
    """Return the consumers by which `service` receives the events of `topic`."""
    return tuple(
        consumer
        for consumer in CONSUMERS
        if consumer.service == service
        and consumer.stream == topic.stream
        and any(covers(pattern, topic.subject) for pattern in consumer.subjects)
    )
