"""Corpora: a request pair starts one run, and an answer's handle says whether it can be shown."""

from __future__ import annotations

from dataclasses import dataclass

from chancery.authority.names import corpus_ref, policy_ref, workspace_ref
from chancery.authority.states import CorpusState
from chancery.events.commands import PostMessage
from chancery.events.corpora import (
    AskCorpus,
    Availability,
    OfCorpusAnswer,
    OfCorpusRun,
    RunBegun,
)
from chancery.events.requests import Caller, Request
from chancery.kernel.canonical import canonical_hash
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import derived_id
from chancery.release.domain.conversations import Message, Posting
from chancery.release.domain.runs import Run
from chancery.release.errors import KeyReused, OtherQuestion, PolicyNotCurrent
from chancery.release.handlers.commands import check_policy
from chancery.release.handlers.disclosing import Discloser
from chancery.release.handlers.gate import Visitor, not_found, require_member
from chancery.release.handlers.retrying import posted
from chancery.release.ports.stores import ConversationStore, RunStore


@dataclass(frozen=True, slots=True)
class Corpora:
    """Handlers of these requests; the caller's pair names the run, for nobody else."""

    discloser: Discloser
    conversations: ConversationStore
    runs: RunStore

    async def ask(self, request: Request[AskCorpus]) -> RunBegun:
        """Record a question of the caller to a corpus, or return what its pair began before.

        Raises:
            NotFound: no such workspace or corpus for the caller.
            PolicyNotCurrent: the pinned policy revision does not hold.
            OtherQuestion: the pair began a run with another question or other bounds.
        """
        caller, body = request.caller, request.body
        visitor = await self._enter(caller, body.workspace_id, body.corpus_id)
        run_id = run_id_of(caller, body)
        asked = PostMessage(
            conversation_id=derived_id("corpus-conversation", caller.tenant, run_id),
            run_id=run_id,
            question_sha256=body.question_sha256,
            mode="rag",
            bounds=body.bounds,
            corpus=body.corpus_id,
        )
        if await self.conversations.message_of(caller.tenant, run_id) is None:
            _check_policy(visitor, body.workspace_id, asked)
        sha256 = canonical_hash(asked.model_dump(mode="json"))
        conversation = await self.conversations.create(
            caller.tenant,
            asked.conversation_id,
            body.workspace_id,
            caller.principal,
            sha256=canonical_hash({"corpus": body.corpus_id, "run_id": run_id}),
        )
        posting = Posting(
            conversation=conversation,
            credential_id=caller.credential_id,
            request_sha256=sha256,
            traceparent=request.traceparent,
            body=asked,
            now=visitor.snapshot.now,
        )
        try:
            message = await self.conversations.post(posting)
        except KeyReused as error:
            detail = "this source and revision began a run with another content; raise the revision"
            raise OtherQuestion(detail, field="revision") from error
        return await self._begun(caller, run_id, message)

    async def run(self, request: Request[OfCorpusRun]) -> RunBegun:
        """Return the run that the caller's pair began.

        Raises:
            NotFound: there is none, or the corpus is not for the caller.
        """
        caller, body = request.caller, request.body
        await self._enter(caller, body.workspace_id, body.corpus_id)
        run_id = run_id_of(caller, body)
        message = await self.conversations.message_of(caller.tenant, run_id)
        if message is None:
            raise not_found("run")
        return await self._begun(caller, run_id, message)

    async def available(self, request: Request[OfCorpusAnswer]) -> Availability:
        """Tell whether the caller's answer could be shown now; nothing is written.

        Raises:
            NotFound: no such corpus, or no such run of it for the caller.
            Unavailable: the check could not be made, so that neither is known.
        """
        caller, body = request.caller, request.body
        await self._enter(caller, body.workspace_id, body.corpus_id)
        if body.run_id is None:
            return Availability(available=False)
        message = await self.conversations.message_of(caller.tenant, body.run_id)
        found = await self.discloser.look(caller, body.run_id)
        if message is None or posted(message).corpus != body.corpus_id:
            raise not_found("run")
        release = found.release
        is_answer = release is not None and release.outcome is None
        is_current = body.generation in {None, found.run.generation}
        return Availability(available=is_answer and is_current and not found.is_withheld)

    async def _enter(self, caller: Caller, workspace_id: str, corpus_id: str) -> Visitor:
        ref = corpus_ref(workspace_id, corpus_id)
        refs = (workspace_ref(workspace_id), policy_ref(workspace_id), ref)
        visitor = await self.discloser.gate.enter(caller, refs)
        require_member(visitor, workspace_id)
        state = visitor.snapshot.typed(ref, CorpusState)
        if state is None or state.workspace_id != workspace_id:
            raise not_found("corpus")
        return visitor

    async def _begun(self, caller: Caller, run_id: str, message: Message) -> RunBegun:
        run = await self.runs.read(caller.tenant, run_id)
        if run is None or run.principal != caller.principal:
            detail = "a message has no run"
            raise Corrupt(detail, code="run_damaged")
        return _begun(run, message)


def run_id_of(caller: Caller, pair: AskCorpus | OfCorpusRun) -> str:
    """Return the id of the one run that a pair begins for its caller."""
    place = (pair.workspace_id, pair.corpus_id, pair.source, str(pair.revision))
    return derived_id("corpus-run", caller.tenant, caller.principal, *place)


def _check_policy(visitor: Visitor, workspace_id: str, asked: PostMessage) -> None:
    try:
        check_policy(visitor, workspace_id, asked)
    except PolicyNotCurrent as error:
        # The bounds of a question to a corpus stand beside it, not in an object of their own.
        named = (error.field or "").removeprefix("bounds.")
        detail = error.detail.removeprefix("bounds.")
        raise PolicyNotCurrent(detail, field=named, code=error.code) from error


def _begun(run: Run, message: Message) -> RunBegun:
    return RunBegun(
        generation=run.generation,
        message=message.number,
        workspace_id=run.workspace_id,
        requested_at=message.requested_at,
        credential_id=message.credential_id,
        request_sha256=message.request_sha256,
        # A later generation was announced by the retry that began it.
        is_open=run.is_open and run.generation == 1,
        asked=posted(message),
    )
