"""The table of streams, consumers, topics and requests fits together."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest

from chancery.events.topology import (
    CONSUMERS,
    INTAKE,
    OUTCOMES,
    REQUESTS,
    RUNS,
    STREAMS,
    TOPICS,
    Consumer,
    Topic,
    stream,
)
from chancery.testkit.contracts.table import READ_BY_SUBJECT, covers, durables

COURSE = (
    "chancery.run.requested.v1",
    "chancery.run.admitted.v1",
    "chancery.run.gathered.v1",
    "chancery.run.proposed.v1",
    "chancery.cut.taken.v1",
    "chancery.release.sealed.v1",
)
"""The events of one run that ends sealed, in their order."""


def flow(topics: tuple[Topic, ...]) -> dict[str, set[str]]:
    """Return, by service, the other services whose events it consumes."""
    graph: dict[str, set[str]] = {}
    for topic in topics:
        for consumer in set(topic.consumers) - {topic.producer}:
            graph.setdefault(consumer, set()).add(topic.producer)
    return graph


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("run.*.*.admitted", "run.*.*.admitted", True),
        ("run.>", "run.*.*.admitted", True),
        (">", "fence", True),
        ("run.*", "run.*.*.admitted", False),
        ("run.>", "run", False),
        ("run.*.*.admitted", "run.>", False),
        ("run.*.*.admitted", "run.*.*.*", False),
        ("run.a.*.admitted", "run.*.*.admitted", False),
        ("fence", "fence.more", False),
    ],
)
def test_a_pattern_covers_only_what_it_matches(pattern: str, subject: str, expected: bool) -> None:
    assert covers(pattern, subject) is expected


@pytest.mark.req("EV-10")
@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.type)
def test_each_event_is_stored_by_its_stream_and_by_no_other(topic: Topic) -> None:
    storing = [
        item.name
        for item in STREAMS
        if any(covers(pattern, topic.subject) for pattern in item.subjects)
    ]

    assert storing == [topic.stream]


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
def test_a_consumer_filters_what_its_stream_stores(consumer: Consumer) -> None:
    whole = (">",)
    stored = stream(consumer.stream).subjects

    assert consumer.subjects == whole or all(
        any(covers(pattern, subject) for pattern in stored) for subject in consumer.subjects
    )


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.type)
def test_each_consuming_service_has_a_durable_or_reads_by_subject(topic: Topic) -> None:
    without = {service for service in topic.consumers if not durables(service, topic)}

    assert {(service, topic.type) for service in without} <= READ_BY_SUBJECT


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
def test_each_durable_receives_only_events_that_name_its_service(consumer: Consumer) -> None:
    received = [topic for topic in TOPICS if consumer in durables(consumer.service, topic)]

    assert received
    assert all(consumer.service in topic.consumers for topic in received)
    if not consumer.reader and consumer.stream != INTAKE:
        others = [topic for topic in TOPICS if topic.stream == consumer.stream]
        assert [topic for topic in others if topic not in received]


def test_nothing_that_reads_by_subject_has_a_durable_too() -> None:
    topics = {topic.type: topic for topic in TOPICS}

    assert all(not durables(service, topics[type_]) for service, type_ in READ_BY_SUBJECT)
    assert all(service in topics[type_].consumers for service, type_ in READ_BY_SUBJECT)


@pytest.mark.req("EV-1")
def test_facts_travel_in_one_direction_between_services() -> None:
    # An outcome is the answer to a submission.
    published = tuple(topic for topic in TOPICS if topic.stream not in {RUNS, OUTCOMES})

    order = list(TopologicalSorter(flow(published)).static_order())

    assert order.index("ingestion") < order.index("indexing") < order.index("retrieval")
    with pytest.raises(CycleError):
        TopologicalSorter(flow(TOPICS)).prepare()


@pytest.mark.req("EV-1")
def test_each_stage_of_a_run_consumes_the_stage_before() -> None:
    topics = {topic.type: topic for topic in TOPICS}

    for before, after in pairwise(COURSE):
        producer = topics[after].producer
        assert producer in topics[before].consumers or producer == topics[before].producer


def test_requests_are_asked_by_another_service_than_answers_them() -> None:
    assert all(topic.clients and topic.server not in topic.clients for topic in REQUESTS)
    assert all(
        topic.subject.startswith(("command.", "query."))
        and topic.subject.split(".")[1] == topic.server
        for topic in REQUESTS
    )
