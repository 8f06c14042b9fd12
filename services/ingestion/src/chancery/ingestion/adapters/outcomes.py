"""The OUTCOMES stream behind the port `Outcomes`."""

from __future__ import annotations

from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import read_subject
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.intake import PRIVATE, IntakeAccepted, IntakeRejected
from chancery.events.topology import OUTCOMES, outcome_subject, own_outcome_subject


@dataclass(frozen=True, slots=True)
class StreamedOutcomes:
    """Told once each: an outcome that is there already is not told again."""

    connection: Connection

    async def tell(self, outcome: Event) -> None:
        """Store the outcome on the subject of its submission."""
        subject = subject_of(outcome)
        async for stored in read_subject(self.connection, OUTCOMES, subject):
            if stored.message_id == outcome.id:
                return
        await publish(self.connection, subject, outcome)

    async def accepted(self, tenant: str, principal: str, event_id: str) -> tuple[Event, ...]:
        """Return the acceptances under an event id, on either subject oldest first."""
        subjects = (
            outcome_subject(tenant, event_id),
            own_outcome_subject(tenant, principal, event_id),
        )
        told = [
            decode(stored.payload)
            for subject in subjects
            async for stored in read_subject(self.connection, OUTCOMES, subject)
        ]
        return tuple(event for event in told if isinstance(event.data, IntakeAccepted))


def subject_of(outcome: Event) -> str:
    """Return where an outcome is told: to the tenant's producers, or to its sender alone."""
    data, envelope = outcome.data, outcome.envelope
    assert isinstance(data, IntakeAccepted | IntakeRejected)
    if data.submission_type in PRIVATE:
        assert envelope.actor is not None
        return own_outcome_subject(outcome.tenant, envelope.actor, envelope.subject)
    return outcome_subject(outcome.tenant, envelope.subject)
