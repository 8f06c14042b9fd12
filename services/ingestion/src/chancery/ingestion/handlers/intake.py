"""Decides submissions of other services with the authority of their senders.

Nothing of a submission is kept here but what becomes of it: its text stays on the stream INTAKE
for seven days and, once accepted, as the blob of its revision, snapshot or draft.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from opentelemetry.trace import SpanKind
from pydantic import ValidationError

from chancery.authority.errors import SnapshotMoved
from chancery.events.declarations import name_as_written
from chancery.events.topology import INGESTION_INTAKE
from chancery.ingestion.domain.submissions import (
    Letter,
    Submission,
    data_of,
    invalid_submission,
    letter_of,
    read_submission,
)
from chancery.ingestion.domain.verdicts import accepted, rejected, rejected_for
from chancery.ingestion.errors import Contended, KeyReused
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.submitting import Submitting
from chancery.ingestion.ports import Outcomes
from chancery.kernel.errors import Conflict, Rejected
from chancery.runtime import telemetry
from chancery.runtime.delivery import Delivery, Received
from chancery.runtime.logging import get_logger
from chancery.runtime.parking import ParkedMessage
from chancery.store.blobs import Blobs

AGAIN: Final = (Contended, SnapshotMoved)
"""Conflicts with other writers, which its sender cannot help: the submission is tried again."""

_log = get_logger("chancery.ingestion")


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes one submission after the other; a second delivery changes nothing."""

    executor: Executor
    blobs: Blobs
    outcomes: Outcomes
    content_bytes_max: int

    async def receive(self, received: Received, delivery: Delivery) -> None:
        """Carry a submission out or say why not, and tell its sender.

        Raises:
            Unavailable, Contended: nothing was told; deliver it again.
        """
        letter = letter_of(delivery.subject, received.payload, received.headers, delivery.sequence)
        if letter is None:
            _log.warning("a submission names no sender", sequence=delivery.sequence)
            return
        try:
            submission = read_submission(letter, received.payload, received.headers)
            await self._carry_out(submission, delivery.time)
        except ValidationError as error:
            await self._reject(letter, invalid_submission(error, "data"))
        except AGAIN:
            raise
        except (Rejected, Conflict) as error:
            if error.field is not None and "row_filters" in error.field:
                name_as_written(error, data_of(received.payload, received.headers))
            await self._reject(letter, error)

    async def _reject(self, letter: Letter, error: Rejected | Conflict) -> None:
        _log.info("submission rejected", sequence=letter.sequence, code=error.code)
        await self.outcomes.tell(rejected(letter, error, self.executor.clock.now()))

    async def _carry_out(self, submission: Submission, submitted_at: datetime) -> None:
        letter = submission.letter
        ids: dict[str, telemetry.Attribute] = {
            "chancery.tenant": letter.tenant,
            "chancery.principal": letter.principal,
            "chancery.event_id": letter.event_id,
            "chancery.sequence": letter.sequence,
        }
        with telemetry.span(
            f"{telemetry.HANDLE} {INGESTION_INTAKE}",
            parent=submission.traceparent,
            kind=SpanKind.CONSUMER,
            ids=ids,
        ):
            if await self._was_accepted(submission):
                return
            submitting = Submitting(submission, self.executor, self.blobs, self.content_bytes_max)
            outcome = await submitting.apply()
            await self.outcomes.tell(accepted(submission, outcome, self.executor.clock.now()))
            await submitting.forget_upload(submitted_at)

    async def _was_accepted(self, submission: Submission) -> bool:
        """Tell whether it was carried out before, as far as that is remembered here.

        What its sender has had rejected too often since then is known by its events on the log.

        Raises:
            KeyReused: its id belongs to another submission of the same sender.
        """
        letter = submission.letter
        told = await self.outcomes.accepted(letter.tenant, letter.principal, letter.event_id)
        if any(each.envelope.requestsha256 != submission.request_sha256 for each in told):
            raise KeyReused
        return bool(told)


@dataclass(frozen=True, slots=True)
class RejectingParking:
    """Instead of keeping a submission that failed too often, tells its sender so."""

    intake: Intake

    async def park(self, message: ParkedMessage) -> None:
        """Tell the sender that nothing was applied and why."""
        stored = message.stored
        letter = letter_of(stored.subject, stored.payload, stored.headers, stored.sequence)
        if letter is None:
            return
        detail = "the submission could not be worked on; submit it again later"
        now = self.intake.executor.clock.now()
        await self.intake.outcomes.tell(
            rejected_for(letter, message.reason, detail, field=None, at=now)
        )
