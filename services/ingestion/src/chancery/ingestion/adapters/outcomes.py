"""The OUTCOMES stream behind the port `Outcomes`."""

from __future__ import annotations

from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import read_subject
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.intake import IntakeAccepted
from chancery.events.topology import OUTCOMES, outcome_subject


@dataclass(frozen=True, slots=True)
class StreamedOutcomes:
    """Told once each: an outcome that is there already is not told again."""

    connection: Connection

    async def tell(self, outcome: Event) -> None:
        """Store the outcome on the subject of its submission."""
        subject = outcome_subject(outcome.tenant, outcome.envelope.subject)
        async for stored in read_subject(self.connection, OUTCOMES, subject):
            if stored.message_id == outcome.id:
                return
        await publish(self.connection, subject, outcome)

    async def accepted(self, tenant: str, event_id: str) -> tuple[Event, ...]:
        """Return the acceptances under an event id, oldest first."""
        subject = outcome_subject(tenant, event_id)
        told = [
            decode(stored.payload)
            async for stored in read_subject(self.connection, OUTCOMES, subject)
        ]
        return tuple(event for event in told if isinstance(event.data, IntakeAccepted))
