"""Admits a run: behind a barrier, from the question as it was recorded to its authorised scope."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from pydantic import ValidationError

from chancery.authority.names import policy_ref
from chancery.authority.policies import effective_policy, policy_hash
from chancery.authority.states import PolicyState
from chancery.bus.connection import Connection as Bus
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.codec import decode, encode
from chancery.events.commands import PostMessage
from chancery.events.envelope import Event
from chancery.events.run import AskedCorpus, RunAdmitted, RunRequested
from chancery.events.topology import run_subject
from chancery.evidence.coverage import coverage
from chancery.evidence.references import CorpusReference
from chancery.evidence.scope import ScopeEntry, build_scope
from chancery.kernel.clock import Clock
from chancery.kernel.errors import Corrupt
from chancery.kernel.ids import random_id
from chancery.release.domain.admission import (
    Admitted,
    NotAdmitted,
    Question,
    admit,
    corpus_of,
    corpus_reference,
)
from chancery.release.domain.conversations import Message
from chancery.release.domain.drafts import Ground, draft_refusal
from chancery.release.domain.entries import Resource
from chancery.release.domain.runs import PolicyPin, Run
from chancery.release.domain.snapshot import Snapshot
from chancery.release.domain.stages import stage_event
from chancery.release.errors import RunVoid
from chancery.release.handlers.candidates import candidates, other_roots
from chancery.release.handlers.ending import Ending
from chancery.release.handlers.gate import Gate
from chancery.release.handlers.run_events import data_of, traced
from chancery.release.handlers.sealer import nudge
from chancery.release.ports.stores import AuthorityReads, ConversationStore, EvidenceStore, RunStore
from chancery.runtime.delivery import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitRun:
    """Handler of `requested`."""

    bus: Bus
    gate: Gate
    reader: AuthorityReads
    runs: RunStore
    conversations: ConversationStore
    evidence: EvidenceStore
    ending: Ending
    clock: Clock

    async def __call__(self, event: Event, _: Delivery) -> None:
        """Admit the run or end it; a repeat publishes the stored bytes again."""
        asked = data_of(event, RunRequested)
        run = await self.runs.read(event.tenant, asked.run_id)
        if run is None:
            message = "no message was posted for this run"
            raise RunVoid(message)
        if not run.is_open:
            return
        if run.state == "requested":
            question = question_of(run, asked)
            # The barrier does not wait for the message to be compared.
            snapshot, _same = await asyncio.gather(
                self.gate.look(run.tenant, question.place), self._compare(run, asked)
            )
            run = await self._admit(traced(run), question, snapshot) or run
        if run.admitted is not None:
            await self._publish(run, run.admitted)

    async def _compare(self, run: Run, asked: RunRequested) -> None:
        """Check that the event repeats the message as it was recorded.

        Raises:
            RunVoid: it does not.
        """
        message = await self.conversations.message_of(run.tenant, run.run_id)
        if message is None or not _repeats(asked, run, message):
            detail = "the request does not repeat the message that was posted"
            raise RunVoid(detail, code="request_differs")

    async def _admit(self, run: Run, question: Question, snapshot: Snapshot) -> Run | None:
        """Return the run as admitted, or None when it has ended here or moved on."""
        resources: tuple[Resource, ...] = ()
        if question.mode != "rlm":
            resources = await candidates(self.reader, question)
        roots = await other_roots(self.reader, question, resources)
        result = admit(question, snapshot, resources, roots)
        if isinstance(result, NotAdmitted):
            await self._refuse(run, question, snapshot, result)
            return None
        payload, policy_sha256 = await self._admission(run, question, snapshot, result)
        lease = _lease(payload)
        if await self.runs.admit(run, lease=lease, admitted=payload, policy_sha256=policy_sha256):
            await nudge(self.bus, run.tenant, run.run_id)
            return replace(run, admitted=payload)
        return await self.runs.read(run.tenant, run.run_id)

    async def _admission(
        self, run: Run, question: Question, snapshot: Snapshot, result: Admitted
    ) -> tuple[bytes, str]:
        policy = snapshot.typed(policy_ref(run.workspace_id), PolicyState)
        holds = effective_policy(policy)
        scope = build_scope(result.entries)
        data = RunAdmitted(
            run_id=run.run_id,
            generation=run.generation,
            lease=random_id(),
            workspace_id=run.workspace_id,
            principal=run.principal,
            question_sha256=run.question_sha256,
            scope_sha256=await self.evidence.put_scope(run.tenant, run.run_id, scope),
            policy_revision=holds.policy_revision,
            language=holds.language,
            mode=question.mode,
            bounds=question.bounds,
            deadline=run.deadline,
            barrier=snapshot.checkpoint,
            index_sequence=_index_sequence(result.entries),
            selected=bool(question.selected),
            corpus=_asked(result.corpus),
        )
        event = stage_event(run, "admitted", data, at=self.clock.now())
        return encode(event), policy_hash(policy)

    async def _refuse(
        self, run: Run, question: Question, snapshot: Snapshot, result: NotAdmitted
    ) -> None:
        policy = snapshot.typed(policy_ref(run.workspace_id), PolicyState)
        holds = effective_policy(policy)
        position = _index_sequence(result.entries)
        report = None
        if result.outcome == "insufficient_evidence":
            report = coverage(result.entries, index_position=position, unconfirmed=())
        mode = holds.modes[0] if question.mode == "rlm" else question.mode
        ground = Ground(
            policy=PolicyPin(holds.policy_revision, policy_hash(policy), mode),
            language=holds.language,
            barrier=snapshot.checkpoint,
            index_position=position,
            coverage=report,
            corpus=corpus_reference(question, corpus_of(question, snapshot)),
        )
        await self.ending.finish(draft_refusal(run, ground, result.outcome), ground)

    async def _publish(self, run: Run, payload: bytes) -> None:
        subject = run_subject(run.tenant, run.run_id, "admitted")
        outgoing = Outgoing(subject=subject, payload=payload, message_id=decode(payload).id)
        await publish_message(self.bus, outgoing)


def question_of(run: Run, asked: RunRequested) -> Question:
    """Return the question of a run with the selections of its request."""
    return Question(
        tenant=run.tenant,
        principal=run.principal,
        credential_id=run.credential_id,
        workspace_id=run.workspace_id,
        mode=run.mode,
        bounds=run.bounds,
        sources=asked.sources,
        datasets=asked.datasets,
        items=asked.items,
        files=asked.files,
        filters=asked.filters,
        corpus=asked.corpus,
    )


def _repeats(asked: RunRequested, run: Run, message: Message) -> bool:
    try:
        posted = PostMessage.model_validate(message.body)
    except ValidationError as error:
        detail = "a stored message is malformed"
        raise Corrupt(detail, code="run_damaged") from error
    place = (asked.workspace_id, asked.conversation_id, asked.message, asked.credential_id)
    recorded = (run.workspace_id, run.conversation_id, run.message, run.credential_id)
    wish = (asked.question_sha256, asked.mode, asked.bounds, asked.filters)
    recorded_wish = (posted.question_sha256, posted.mode, posted.bounds, posted.filters)
    selection = (asked.corpus, asked.sources, asked.items, asked.datasets, asked.files)
    recorded_selection = (
        posted.corpus,
        posted.sources,
        posted.items,
        posted.datasets,
        posted.files,
    )
    return (place, wish, selection) == (recorded, recorded_wish, recorded_selection)


def _asked(corpus: CorpusReference | None) -> AskedCorpus | None:
    if corpus is None:
        return None
    return AskedCorpus(id=corpus.id, key=corpus.key, declaration_sha256=corpus.declaration_sha256)


def _index_sequence(entries: tuple[ScopeEntry, ...]) -> int:
    return max((entry.index_sequence for entry in entries), default=0)


def _lease(payload: bytes) -> str:
    data = decode(payload).data
    assert isinstance(data, RunAdmitted)
    return data.lease
