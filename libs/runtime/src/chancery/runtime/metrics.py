"""The numbers that every service counts; one registry per service, read at /metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

SECONDS_BUCKETS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counters and histograms; labels are names of the topology and codes, never ids."""

    registry: CollectorRegistry
    handled: Counter
    redelivered: Counter
    handling_seconds: Histogram
    requests: Counter
    request_seconds: Histogram
    pending: Gauge
    ack_pending: Gauge
    published: Gauge
    restarts: Counter
    ready: Gauge


def create_metrics() -> Metrics:
    """Return fresh metrics with a registry of their own."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return Metrics(
        registry=registry,
        handled=Counter(
            "chancery_messages_handled", "Messages by what became of them.",
            ("consumer", "outcome"), registry=registry,
        ),
        redelivered=Counter(
            "chancery_messages_redelivered", "Deliveries after the first one.",
            ("consumer",), registry=registry,
        ),
        handling_seconds=Histogram(
            "chancery_message_seconds", "Time to handle one message.",
            ("consumer",), registry=registry, buckets=SECONDS_BUCKETS,
        ),
        requests=Counter(
            "chancery_requests", "Requests answered, by subject and outcome.",
            ("subject", "outcome"), registry=registry,
        ),
        request_seconds=Histogram(
            "chancery_request_seconds", "Time to answer one request.",
            ("subject",), registry=registry, buckets=SECONDS_BUCKETS,
        ),
        pending=Gauge(
            "chancery_consumer_pending", "Messages that a consumer has not delivered yet.",
            ("consumer",), registry=registry,
        ),
        ack_pending=Gauge(
            "chancery_consumer_ack_pending", "Messages delivered and not acknowledged yet.",
            ("consumer",), registry=registry,
        ),
        published=Gauge(
            "chancery_messages_published", "Messages that a stream acknowledged since the start.",
            registry=registry,
        ),
        restarts=Counter(
            "chancery_background_restarts", "Background loops restarted after a failure.",
            ("name",), registry=registry,
        ),
        ready=Gauge("chancery_ready", "1 when /readyz is green.", registry=registry),
    )  # fmt: skip
