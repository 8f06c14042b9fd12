"""From a checked question to a run: recorded by its owner, stored, then announced."""

from __future__ import annotations

from chancery.events import commands
from chancery.events.corpora import RunBegun
from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunCancelled, RunRequested
from chancery.events.topology import run_subject
from chancery.gateway.domain.bodies import MessageBody
from chancery.gateway.handlers.edge import Context
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import SystemClock
from chancery.kernel.ids import derived_id


async def start_run(
    here: Context, conversation_id: str, body: MessageBody
) -> commands.MessagePosted:
    """Record the question and start the run that answers it; a repeat starts the same one.

    The owner answers first: nothing is stored for a caller that it refuses. A crash in between
    leaves a message whose run never starts; a repeat of the request starts it, the deadline ends
    it otherwise.
    """
    question = body.question.encode()
    command = commands.PostMessage(
        conversation_id=conversation_id,
        run_id=here.call.created_id("run"),
        question_sha256=sha256_hex(question),
        sources=body.sources,
        items=body.items,
        datasets=body.datasets,
        files=body.files,
        mode=body.mode,
        bounds=body.bounds.run_bounds(),
        filters=body.filters.filters(),
    )
    posted = await here.command("release", "post-message", command, commands.MessagePosted)
    await here.edge.blobs.put_run(here.call.caller.tenant, posted.run_id, question)
    begun = RunBegun(
        generation=1,
        message=posted.message,
        workspace_id=posted.workspace_id,
        requested_at=posted.requested_at,
        credential_id=here.call.caller.credential_id,
        request_sha256=here.call.request_sha256,
        is_open=True,
        asked=command.model_copy(update={"run_id": posted.run_id}),
    )
    await announce_request(here, begun)
    return posted


async def announce_request(here: Context, begun: RunBegun) -> None:
    """Publish that a generation of a run was requested; a repeat publishes the same event."""
    caller, asked = here.call.caller, begun.asked
    data = RunRequested(
        run_id=asked.run_id,
        workspace_id=begun.workspace_id,
        conversation_id=asked.conversation_id,
        message=begun.message,
        credential_id=begun.credential_id,
        question_sha256=asked.question_sha256,
        sources=asked.sources,
        items=asked.items,
        datasets=asked.datasets,
        files=asked.files,
        mode=asked.mode,
        bounds=asked.bounds,
        corpus=asked.corpus,
        filters=asked.filters,
    )
    later = () if begun.generation == 1 else (str(begun.generation),)
    envelope = Envelope(
        id=derived_id("requested", caller.tenant, asked.run_id, *later),
        source="/chancery/gateway",
        type=data.TYPE,
        subject=asked.run_id,
        time=begun.requested_at,
        tenant=caller.tenant,
        actor=caller.principal,
        correlationid=asked.run_id,
        traceparent=here.call.traceparent,
        requestsha256=begun.request_sha256,
    )
    subject = run_subject(caller.tenant, asked.run_id, "requested")
    await here.edge.announcements.announce(subject, Event(envelope=envelope, data=data))


async def announce_cancel(here: Context, run_id: str, generation: int) -> None:
    """Publish that the caller gave up a generation of a run; it is given up once."""
    caller = here.call.caller
    data = RunCancelled(run_id=run_id, credential_id=caller.credential_id, generation=generation)
    envelope = Envelope(
        id=derived_id("cancelled", caller.tenant, run_id, str(generation)),
        source="/chancery/gateway",
        type=data.TYPE,
        subject=run_id,
        time=SystemClock().now(),
        tenant=caller.tenant,
        actor=caller.principal,
        correlationid=run_id,
        traceparent=here.call.traceparent,
    )
    subject = run_subject(caller.tenant, run_id, "cancelled")
    await here.edge.announcements.announce(subject, Event(envelope=envelope, data=data))
