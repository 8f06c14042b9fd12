"""The OUTCOMES stream behind the port `Outcomes`.

What is read for one submission is bounded by what the stream keeps of one subject, however often an
id was used before.
"""

from __future__ import annotations

from dataclasses import dataclass

from chancery.bus.connection import Connection
from chancery.bus.load import last_message, read_subject
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.codec import decode, encode
from chancery.events.envelope import Event
from chancery.events.intake import IntakeAccepted, IntakeRejected
from chancery.events.topology import OUTCOMES, outcome_subject


@dataclass(frozen=True, slots=True)
class StreamedOutcomes:
    """Told once each: the outcome of a submission that comes again is not told again."""

    connection: Connection

    async def tell(self, outcome: Event) -> None:
        """Store the outcome on the subject of its submission."""
        subject, message_id = subject_of(outcome), _message_id(outcome)
        # Submissions are worked on one after the other, so what was told of one that is delivered
        # again is the newest.
        newest = await last_message(self.connection, OUTCOMES, subject)
        if newest is None or newest.message_id != message_id:
            outgoing = Outgoing(subject=subject, payload=encode(outcome), message_id=message_id)
            await publish_message(self.connection, outgoing)

    async def accepted(self, tenant: str, principal: str, event_id: str) -> tuple[Event, ...]:
        """Return the acceptances among the newest outcomes of an event id, oldest first."""
        subject = outcome_subject(tenant, principal, event_id)
        told = [
            decode(stored.payload)
            async for stored in read_subject(self.connection, OUTCOMES, subject)
        ]
        return tuple(event for event in told if isinstance(event.data, IntakeAccepted))


def subject_of(outcome: Event) -> str:
    """Return where an outcome is told: to the sender of its submission alone."""
    envelope = outcome.envelope
    assert envelope.actor is not None
    return outcome_subject(outcome.tenant, envelope.actor, envelope.subject)


def _message_id(outcome: Event) -> str:
    """Return what only the same delivery repeats: an acceptance that is told anew is stored."""
    data = outcome.data
    assert isinstance(data, IntakeAccepted | IntakeRejected)
    return f"{outcome.id}.{data.intake_sequence}"
