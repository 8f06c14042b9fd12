"""The events that release publishes about a run, with ids that a repeat gives again."""

from __future__ import annotations

from datetime import datetime

from chancery.events.envelope import Envelope, Event, EventData
from chancery.kernel.ids import derived_id
from chancery.release.domain.runs import Run

SOURCE = "/chancery/release"


def stage_event(
    run: Run, name: str, data: EventData, *, at: datetime, causation: str | None = None
) -> Event:
    """Return the event of a run's stage; run, generation and name give its id."""
    envelope = Envelope(
        id=derived_id("stage", run.tenant, run.run_id, str(run.generation), name),
        source=SOURCE,
        type=data.TYPE,
        subject=run.run_id,
        time=at,
        tenant=run.tenant,
        actor=run.principal,
        causationid=causation,
        correlationid=run.run_id,
        traceparent=run.traceparent,
    )
    return Event(envelope=envelope, data=data)
