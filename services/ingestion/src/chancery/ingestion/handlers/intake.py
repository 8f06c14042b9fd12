"""Decides submissions of other services with the authority of their senders.

Nothing of a submission is kept here but what becomes of it: its text stays on the stream INTAKE
for seven days and, once accepted, as the blob of its revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from opentelemetry.trace import SpanKind
from pydantic import ValidationError

from chancery.events import commands
from chancery.events.intake import RevisionSubmitted, SourceSubmitted, WithdrawalSubmitted
from chancery.events.requests import Message
from chancery.events.topology import INGESTION_INTAKE
from chancery.ingestion.domain import knowledge
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent, Key
from chancery.ingestion.domain.submissions import (
    Letter,
    Submission,
    check_content,
    content_of,
    invalid_submission,
    letter_of,
    read_submission,
)
from chancery.ingestion.domain.verdicts import accepted, rejected, rejected_for
from chancery.ingestion.errors import InvalidSubmission, KeyReused
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.ports import Outcomes
from chancery.kernel.errors import Rejected
from chancery.runtime import telemetry
from chancery.runtime.delivery import Delivery, Received
from chancery.runtime.logging import get_logger
from chancery.runtime.parking import ParkedMessage
from chancery.store.blobs import BlobNotFound, Blobs, upload_place

ROUTE: Final = "intake"
REFUSALS: Final = (Rejected, KeyReused)
"""What its sender has to change; anything else is tried again."""

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)

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
            await self._carry_out(submission)
        except ValidationError as error:
            await self._reject(letter, invalid_submission(error, "data"))
        except REFUSALS as error:
            await self._reject(letter, error)

    async def _reject(self, letter: Letter, error: Rejected | KeyReused) -> None:
        _log.info("submission rejected", sequence=letter.sequence, code=error.code)
        await self.outcomes.tell(rejected(letter, error, self.executor.clock.now()))

    async def _carry_out(self, submission: Submission) -> None:
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
            outcome = await self._apply(submission)
            await self.outcomes.tell(accepted(submission, outcome, self.executor.clock.now()))
            await self._forget_upload(submission)

    async def _was_accepted(self, submission: Submission) -> bool:
        """Tell whether it was carried out before.

        Raises:
            KeyReused: its id belongs to another submission of the same sender.
        """
        letter = submission.letter
        for earlier in await self.outcomes.accepted(letter.tenant, letter.event_id):
            if earlier.envelope.actor == letter.principal:
                if earlier.envelope.requestsha256 != submission.request_sha256:
                    raise KeyReused
                return True
        return False

    async def _apply(self, submission: Submission) -> commands.Outcome | commands.PublishedOutcome:
        match submission.data:
            case SourceSubmitted() as data:
                declaration = commands.DeclareSource(
                    workspace_id=data.workspace_id,
                    source_id=data.source_id,
                    title=data.title,
                    visibility=data.visibility,
                    authority=data.authority,
                    date=data.date,
                )
                return await self._settle(knowledge.DECLARE_SOURCE, submission, declaration)
            case RevisionSubmitted() as data:
                return await self._publish(submission, data)
            case WithdrawalSubmitted() as data:
                change = commands.ChangeServing(
                    workspace_id=data.workspace_id, kind="source", resource_id=data.source_id
                )
                return await self._settle(knowledge.WITHDRAW, submission, change)

    async def _publish(
        self, submission: Submission, data: RevisionSubmitted
    ) -> commands.PublishedOutcome:
        """Store the content once its sender is known to be a publisher, then publish it."""
        inline = content_of(data)
        question = commands.CheckUpload(
            workspace_id=data.workspace_id, kind="source", resource_id=data.source_id
        )
        await self._settle(knowledge.UPLOAD_PERMISSION, submission, question)
        content = inline if inline is not None else await self._uploaded(submission.letter, data)
        check_content(content, "data.text" if inline is not None else "data.content_sha256")
        sha256 = await self.blobs.put(submission.letter.tenant, content)
        revision = commands.PublishRevision(
            workspace_id=data.workspace_id,
            source_id=data.source_id,
            content_sha256=sha256,
            media_type=data.media_type,
            size_bytes=len(content),
        )
        return await self._settle(knowledge.PUBLISH_REVISION, submission, revision)

    async def _uploaded(self, letter: Letter, data: RevisionSubmitted) -> bytes:
        """Return what the sender itself uploaded: a hash alone gives nobody another's bytes."""
        place = upload_place(letter.principal)
        try:
            return await self.blobs.get_run(
                letter.tenant, place, data.content_sha256 or "", limit=self.content_bytes_max
            )
        except BlobNotFound as error:
            message = "there is no such upload of this principal; send it with POST /v1/blobs"
            raise InvalidSubmission(
                message, field="data.content_sha256", code="blob_not_found"
            ) from error

    async def _forget_upload(self, submission: Submission) -> None:
        data, letter = submission.data, submission.letter
        if isinstance(data, RevisionSubmitted) and data.content_sha256 is not None:
            place = upload_place(letter.principal)
            await self.blobs.delete(letter.tenant, data.content_sha256, run=place)

    async def _settle(self, command: Command[B, R], submission: Submission, body: B) -> R:
        letter = submission.letter
        key = Key(
            tenant=letter.tenant,
            principal=letter.principal,
            route=ROUTE,
            idempotency_key=letter.event_id,
            request_sha256=submission.request_sha256,
        )
        intent = Intent(
            key=key,
            body=body,
            now=self.executor.clock.now(),
            token_key=self.executor.token_key,
            claim=None,
            traceparent=telemetry.current_traceparent() or submission.traceparent,
        )
        return await self.executor.settle(command, intent)


@dataclass(frozen=True, slots=True)
class RejectingParking:
    """Instead of keeping a submission that failed too often, tells its sender so."""

    intake: Intake

    async def park(self, message: ParkedMessage) -> None:
        """Tell the sender that nothing was applied and why."""
        stored = message.stored
        letter = letter_of(stored.subject, stored.payload, {}, stored.sequence)
        if letter is None:
            return
        detail = "the submission could not be worked on; submit it again later"
        now = self.intake.executor.clock.now()
        await self.intake.outcomes.tell(
            rejected_for(letter, message.reason, detail, field=None, at=now)
        )
