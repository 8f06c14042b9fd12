"""The one table of streams, consumers, subjects and requests; nothing else spells a subject.

`chancery streams apply` makes a server match it; AsyncAPI, topology.json and the accounts are
rendered from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from chancery.events.topology_requests import (
    PARKING,
    REQUESTS,
    command_subject,
    query_subject,
)
from chancery.events.topology_rows import (
    SERVICES,
    Client,
    Consumer,
    Producer,
    RequestTopic,
    Service,
    Signal,
    Stream,
    Topic,
)
from chancery.events.topology_subjects import (
    ABANDONED,
    LAST_NUDGE,
    abandoned_subject,
    authority_subject,
    cut_subject,
    index_subject,
    intake_subject,
    nudge_subject,
    outcome_subject,
    parked_subject,
    release_subject,
    run_subject,
)
from chancery.events.topology_types import (
    AUTHORITY_TYPES,
    INDEX_TYPES,
    INDEX_VERSIONS,
    SUBMISSIONS,
)

__all__ = (
    "ABANDONED",
    "LAST_NUDGE",
    "PARKING",
    "REQUESTS",
    "SERVICES",
    "Client",
    "Consumer",
    "Producer",
    "RequestTopic",
    "Service",
    "Signal",
    "Stream",
    "Topic",
    "abandoned_subject",
    "authority_subject",
    "command_subject",
    "cut_subject",
    "index_subject",
    "intake_subject",
    "nudge_subject",
    "outcome_subject",
    "parked_subject",
    "query_subject",
    "release_subject",
    "run_subject",
)

DAY_S: Final = 86_400

AUTHORITY: Final = "AUTHORITY"
INDEX: Final = "INDEX"
RUNS: Final = "RUNS"
RELEASES: Final = "RELEASES"
INTAKE: Final = "INTAKE"
OUTCOMES: Final = "OUTCOMES"
PARKED: Final = "PARKED"
FENCE_SUBJECT: Final = "fence"
TOLD_SUBJECT: Final = "told.>"

OUTCOMES_OF_ID_MAX: Final = 16
"""How many outcomes are kept of one sender's event id; every submission under it reads them."""

STREAMS: Final[tuple[Stream, ...]] = (
    Stream(
        name=AUTHORITY,
        subjects=("authority.>", "cut.*", FENCE_SUBJECT),
        description="Everything a release decision depends on, and the cuts.",
        allow_msg_ttl=True,
    ),
    Stream(
        name=INDEX,
        subjects=("index.>",),
        description="Extractions and index state of every published revision.",
    ),
    Stream(
        name=RUNS,
        subjects=("run.>",),
        description="The stages of every run.",
        max_age_s=30 * DAY_S,
        append_only=False,
    ),
    Stream(
        name=RELEASES,
        subjects=("release.>",),
        description="What was sealed and what was refused, by hash.",
    ),
    Stream(
        name=INTAKE,
        subjects=("intake.>",),
        description="What other services submit; its text is gone after seven days.",
        max_age_s=7 * DAY_S,
        append_only=False,
        allow_atomic=False,
        duplicate_window_s=0.1,  # All producers share it; a repetition is known by its event id.
    ),
    Stream(
        name=OUTCOMES,
        subjects=("intake-outcome.>",),
        description="What became of each submission, without its content.",
        max_age_s=7 * DAY_S,
        append_only=False,
        allow_direct=True,
        subject_messages_max=OUTCOMES_OF_ID_MAX,
        republished_to=TOLD_SUBJECT,
    ),
    Stream(
        name=PARKED,
        subjects=("parked.>",),
        description="Which parked messages an operator discarded, and why.",
    ),
)

INDEXED: Final = ("source", "dataset", "item", "file")
"""The aggregates whose revisions get an indexed form."""

INGESTION_INTAKE: Final = "ingestion-intake"
INDEXING_PUBLICATIONS: Final = "indexing-publications"
RETRIEVAL_INDEX: Final = "retrieval-index"
RETRIEVAL_INDEX_REBUILD: Final = "retrieval-index-rebuild"
RETRIEVAL_RUNS: Final = "retrieval-runs"
EXECUTION_RUNS: Final = "execution-runs"
RELEASE_AUTHORITY: Final = "release-authority"
RELEASE_INDEX: Final = "release-index"
RELEASE_AUTHORITY_REBUILD: Final = "release-authority-rebuild"
RELEASE_INDEX_REBUILD: Final = "release-index-rebuild"
RELEASE_REQUESTED: Final = "release-requested"
RELEASE_GATHERED: Final = "release-gathered"
RELEASE_PROPOSED: Final = "release-proposed"
RELEASE_CANCELLED: Final = "release-cancelled"
RELEASE_ACTIVITY: Final = "release-activity"

CONSUMERS: Final[tuple[Consumer, ...]] = (
    Consumer(
        name=INGESTION_INTAKE,
        stream=INTAKE,
        service="ingestion",
        subjects=("intake.>",),
        max_ack_pending=1,  # A source is declared before its revision is published.
    ),
    Consumer(
        name=INDEXING_PUBLICATIONS,
        stream=AUTHORITY,
        service="indexing",
        subjects=tuple(f"authority.*.{kind}.*" for kind in INDEXED),
        max_ack_pending=256,  # What comes together is announced together.
    ),
    Consumer(
        name=RETRIEVAL_INDEX, stream=INDEX, service="retrieval", subjects=("index.>",), reader=True
    ),
    Consumer(
        name=RETRIEVAL_INDEX_REBUILD,
        stream=INDEX,
        service="retrieval",
        subjects=("index.>",),
        reader=True,
    ),
    Consumer(
        name=RETRIEVAL_RUNS,
        stream=RUNS,
        service="retrieval",
        subjects=("run.*.*.admitted",),
    ),
    Consumer(name=EXECUTION_RUNS, stream=RUNS, service="execution", subjects=("run.*.*.gathered",)),
    Consumer(
        name=RELEASE_AUTHORITY, stream=AUTHORITY, service="release", subjects=(">",), reader=True
    ),
    Consumer(
        name=RELEASE_INDEX, stream=INDEX, service="release", subjects=("index.>",), reader=True
    ),
    Consumer(
        name=RELEASE_AUTHORITY_REBUILD,
        stream=AUTHORITY,
        service="release",
        subjects=(">",),
        reader=True,
    ),
    Consumer(
        name=RELEASE_INDEX_REBUILD,
        stream=INDEX,
        service="release",
        subjects=("index.>",),
        reader=True,
    ),
    Consumer(
        name=RELEASE_REQUESTED, stream=RUNS, service="release", subjects=("run.*.*.requested",)
    ),
    Consumer(name=RELEASE_GATHERED, stream=RUNS, service="release", subjects=("run.*.*.gathered",)),
    Consumer(name=RELEASE_PROPOSED, stream=RUNS, service="release", subjects=("run.*.*.proposed",)),
    Consumer(
        name=RELEASE_CANCELLED, stream=RUNS, service="release", subjects=("run.*.*.cancelled",)
    ),
    Consumer(name=RELEASE_ACTIVITY, stream=RUNS, service="release", subjects=("run.*.*.activity",)),
)


def stream(name: str) -> Stream:
    """Return the stream called `name`; an unknown name is a bug (KeyError)."""
    return {item.name: item for item in STREAMS}[name]


def consumer(name: str) -> Consumer:
    """Return the consumer called `name`; an unknown name is a bug (KeyError)."""
    return {item.name: item for item in CONSUMERS}[name]


RETRIEVAL_REPLICAS_MAX: Final = 8
"""Replicas of retrieval that the accounts allow; each reads INDEX with readers of its own."""


def retrieval_readers(replica: int) -> tuple[Consumer, Consumer]:
    """Return the readers of a replica (the first is 0): of its index, and of the one beside it."""
    assert 0 <= replica < RETRIEVAL_REPLICAS_MAX
    live, beside = consumer(RETRIEVAL_INDEX), consumer(RETRIEVAL_INDEX_REBUILD)
    if replica == 0:
        return live, beside
    return replace(live, name=f"{live.name}-{replica}"), replace(
        beside, name=f"{beside.name}-{replica}"
    )


def consumers(retrieval_replicas: int = 1) -> tuple[Consumer, ...]:
    """Return every consumer of a deployment with this many replicas of retrieval."""
    others = range(1, retrieval_replicas)
    return (*CONSUMERS, *(each for replica in others for each in retrieval_readers(replica)))


def _topics(
    stream_name: str, producer: Producer, *rows: tuple[str, str, tuple[Producer, ...]]
) -> tuple[Topic, ...]:
    return tuple(
        Topic(type=type_, stream=stream_name, subject=subject, producer=producer, consumers=to)
        for type_, subject, to in rows
    )


TOPICS: Final[tuple[Topic, ...]] = (
    *(
        Topic(
            type=(type_ := f"chancery.intake.{name}"),
            stream=INTAKE,
            subject=intake_subject("*", "*", type_),
            producer="edge",
            consumers=("ingestion",),
        )
        for name in SUBMISSIONS
    ),
    *_topics(
        OUTCOMES,
        "ingestion",
        ("chancery.intake.accepted.v1", outcome_subject("*", "*", "*"), ("edge",)),
        ("chancery.intake.rejected.v1", outcome_subject("*", "*", "*"), ("edge",)),
    ),
    *(
        Topic(
            type=f"chancery.{kind}.{event}.v1",
            stream=AUTHORITY,
            subject=f"authority.*.{kind}.*",
            producer="ingestion",
            consumers=("indexing", "release") if kind in INDEXED else ("release",),
        )
        for kind, events in AUTHORITY_TYPES.items()
        for event in events
    ),
    *_topics(
        AUTHORITY,
        "release",
        ("chancery.cut.taken.v1", "cut.*", ("release",)),
        ("chancery.fence.raised.v1", FENCE_SUBJECT, ("release",)),
    ),
    *(
        Topic(
            type=f"chancery.index.revision-{state}.v{version}",
            stream=INDEX,
            subject="index.*.*.*",
            producer="indexing",
            consumers=("retrieval", "release"),
        )
        for version in INDEX_VERSIONS
        for state in INDEX_TYPES
    ),
    *_topics(
        RUNS,
        "gateway",
        ("chancery.run.requested.v1", "run.*.*.requested", ("release",)),
        ("chancery.run.cancelled.v1", "run.*.*.cancelled", ("release",)),
    ),
    *_topics(
        RUNS,
        "release",
        ("chancery.run.admitted.v1", "run.*.*.admitted", ("retrieval", "execution")),
        ("chancery.run.expired.v1", "run.*.*.expired", ()),
    ),
    *_topics(
        RUNS,
        "retrieval",
        ("chancery.run.gathered.v1", "run.*.*.gathered", ("execution", "release")),
    ),
    *_topics(
        RUNS,
        "execution",
        ("chancery.run.activity-recorded.v1", "run.*.*.activity", ("release",)),
        ("chancery.run.proposed.v1", "run.*.*.proposed", ("release",)),
    ),
    *_topics(
        RELEASES,
        "release",
        ("chancery.release.sealed.v1", "release.*.*.sealed", ()),
        ("chancery.release.refused.v1", "release.*.*.refused", ()),
    ),
    *(
        Topic(
            type="chancery.parked.discarded.v1",
            stream=PARKED,
            subject=parked_subject(service, "*", "*"),
            producer=service,
            consumers=(),
        )
        for service in PARKING
    ),
)
"""Every event type with its stream, subject, producer and consumers."""

SIGNALS: Final[tuple[Signal, ...]] = (
    Signal(subject="nudge.*.*", producer="release", consumers=("gateway",)),
    Signal(subject=ABANDONED, producer="gateway", consumers=("execution",)),
)
"""Every subject of core NATS that nothing stores."""

TERMINATIONS: Final[tuple[tuple[Service, str], ...]] = (("release", RUNS),)
"""Which service is told when a worker of a stream gives a message up."""
