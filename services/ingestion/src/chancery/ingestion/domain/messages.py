"""The events of a decided request, as they are appended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chancery.authority.names import AggregateRef, Change
from chancery.bus.publish import Outgoing
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event
from chancery.events.requests import Message
from chancery.ingestion.domain.aggregates import Address, Aggregate
from chancery.ingestion.domain.intents import EVENTS_MAX, Intent

SOURCE = "/chancery/ingestion"
"""The CloudEvents source of every event of this service."""


def events_of(tenant: str, changes: Sequence[Change], intent: Intent[Message]) -> tuple[Event, ...]:
    """Return one event per change, with ids that the request determines."""
    assert len(changes) <= EVENTS_MAX
    return tuple(
        Event(
            envelope=Envelope(
                id=intent.key.event_id(number),
                source=SOURCE,
                type=change.data.TYPE,
                subject=change.ref.id,
                time=intent.now,
                tenant=tenant,
                actor=intent.key.principal,
                correlationid=intent.key.event_id(0),
                traceparent=intent.traceparent,
                requestsha256=intent.key.request_sha256,
            ),
            data=change.data,
        )
        for number, change in enumerate(changes)
    )


def outgoing_of(
    tenant: str,
    changes: Sequence[Change],
    events: Sequence[Event],
    aggregates: Mapping[AggregateRef, Aggregate],
) -> tuple[Outgoing, ...]:
    """Return the messages to append; the first one of each aggregate expects what was read."""
    expected = {ref: aggregate.sequence for ref, aggregate in aggregates.items()}
    return tuple(
        Outgoing(
            subject=Address(tenant, change.ref).subject,
            payload=encode(event),
            message_id=event.id,
            expect_last=expected.pop(change.ref, None),
        )
        for change, event in zip(changes, events, strict=True)
    )
