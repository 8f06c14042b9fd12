"""From a checked question to a run: recorded by its owner, stored, then announced."""

from __future__ import annotations

from chancery.events import commands
from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunRequested
from chancery.events.topology import run_subject
from chancery.gateway.domain.bodies import MessageBody
from chancery.gateway.handlers.edge import Context
from chancery.kernel.canonical import sha256_hex
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
        bounds=body.bounds,
    )
    posted = await here.command("release", "post-message", command, commands.MessagePosted)
    await here.edge.blobs.put_run(here.call.caller.tenant, posted.run_id, question)
    await _announce(here, command, posted)
    return posted


async def _announce(
    here: Context, command: commands.PostMessage, posted: commands.MessagePosted
) -> None:
    caller = here.call.caller
    data = RunRequested(
        run_id=posted.run_id,
        workspace_id=posted.workspace_id,
        conversation_id=command.conversation_id,
        message=posted.message,
        credential_id=caller.credential_id,
        question_sha256=command.question_sha256,
        sources=command.sources,
        items=command.items,
        datasets=command.datasets,
        files=command.files,
        mode=command.mode,
        bounds=command.bounds,
    )
    envelope = Envelope(
        id=derived_id("requested", caller.tenant, posted.run_id),
        source="/chancery/gateway",
        type=data.TYPE,
        subject=posted.run_id,
        time=posted.requested_at,
        tenant=caller.tenant,
        actor=caller.principal,
        correlationid=posted.run_id,
        traceparent=here.call.traceparent,
        requestsha256=here.call.request_sha256,
    )
    subject = run_subject(caller.tenant, posted.run_id, "requested")
    await here.edge.announcements.announce(subject, Event(envelope=envelope, data=data))
