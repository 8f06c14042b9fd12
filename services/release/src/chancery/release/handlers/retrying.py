"""Answering a question once more: a generation of its own, with a lease and a deadline of its own.

The receipts of earlier generations stay; what is told of the run is the newest generation only.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from chancery.authority.names import policy_ref, workspace_ref
from chancery.events.commands import PostMessage, RetryRun, RunRetried
from chancery.events.requests import Request
from chancery.kernel.errors import Corrupt, NotFound
from chancery.kernel.ids import derived_id
from chancery.release.domain.conversations import Message
from chancery.release.domain.runs import Generation, Retry, Run
from chancery.release.handlers.commands import check_policy
from chancery.release.handlers.gate import Gate, not_found, require_member
from chancery.release.ports.stores import ConversationStore, RunStore


@dataclass(frozen=True, slots=True)
class Retrying:
    """Handler of the retry command; only who asked may ask again."""

    gate: Gate
    runs: RunStore
    conversations: ConversationStore

    async def __call__(self, request: Request[RetryRun]) -> RunRetried:
        """Begin the next generation of a run that has ended."""
        caller, run_id = request.caller, request.body.run_id
        run = await self.runs.read(caller.tenant, run_id)
        if run is None or run.principal != caller.principal:
            await self.gate.enter(caller)
            raise not_found("run")
        refs = (workspace_ref(run.workspace_id), policy_ref(run.workspace_id))
        visitor = await self.gate.enter(caller, refs)
        try:
            require_member(visitor, run.workspace_id)
        except NotFound as error:
            raise not_found("run") from error
        asked = await self._asked(run)
        request_id = derived_id("retry", request.route, request.idempotency_key)
        begun = await self.runs.begun(run, request_id)
        if begun is None:
            check_policy(visitor, run.workspace_id, asked)
            wish = Retry(
                request_id=request_id,
                credential_id=caller.credential_id,
                traceparent=request.traceparent,
                now=visitor.snapshot.now,
            )
            begun = await self.runs.retry(run, wish)
        return _retried(run, asked, begun)

    async def _asked(self, run: Run) -> PostMessage:
        message = await self.conversations.message_of(run.tenant, run.run_id)
        if message is None:
            detail = "a run has no message"
            raise Corrupt(detail, code="run_damaged")
        return posted(message)


def posted(message: Message) -> PostMessage:
    """Return what was posted, as it was stored.

    Raises:
        Corrupt: it is not readable.
    """
    try:
        return PostMessage.model_validate(message.body)
    except ValidationError as error:
        detail = "a stored message is malformed"
        raise Corrupt(detail, code="run_damaged") from error


def _retried(run: Run, asked: PostMessage, begun: Generation) -> RunRetried:
    return RunRetried(
        generation=begun.generation,
        message=run.message,
        workspace_id=run.workspace_id,
        requested_at=begun.requested_at,
        credential_id=begun.credential_id,
        asked=asked,
    )
