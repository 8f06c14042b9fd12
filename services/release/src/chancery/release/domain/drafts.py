"""A draft: everything of a release that is known before its cut, with every hash made (step 2)."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from chancery.authority.names import AggregateRef
from chancery.authority.release import Pinned, ReleaseRequest, read_set
from chancery.events.authority import Language
from chancery.events.release import Outcome
from chancery.events.run import AskedCorpus, RunAdmitted
from chancery.evidence.answer import Answer, EncodedAnswer, compose, encode_answer
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.receipt import (
    Execution,
    ReceiptCore,
    RunRecord,
    build_core,
)
from chancery.evidence.references import (
    CorpusReference,
    Reference,
    SourceReference,
    committed,
)
from chancery.evidence.salts import (
    SEED_BYTES,
    Salts,
    commitment,
    derive_salts,
    question_salt,
    snapshot_salt,
)
from chancery.evidence.texts import explanation
from chancery.kernel.canonical import salted_hash
from chancery.kernel.ids import derived_id
from chancery.release.domain.runs import PolicyPin, Run, release_request
from chancery.release.domain.selection import Selected


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a draft rests on besides its facts: policy, language, positions, coverage."""

    policy: PolicyPin
    language: Language
    barrier: int
    index_position: int
    coverage: CoverageReport | None
    selector: str | None = None
    pinned: tuple[Pinned, ...] = ()
    corpus: CorpusReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A release before its cut; `read_set` is what the cut names and the decision reads.

    What is hashed is `encoded` once. `outcome` is None for an answer. `seed` gives the salts,
    `executions` stay with the content.
    """

    run: Run
    release_id: str
    outcome: Outcome | None
    language: Language
    request: ReleaseRequest
    read_set: tuple[AggregateRef, ...]
    answer: Answer
    seed: bytes
    salts: Salts
    encoded: EncodedAnswer
    core: ReceiptCore
    core_bytes: bytes
    core_sha256: str
    executions: tuple[Execution, ...] = ()
    detail: str | None = None


def draft_answer(run: Run, ground: Ground, selected: Selected) -> Draft:
    """Return the draft that presents a sound selection.

    Raises:
        UnsupportedSelection: empty, duplicate, too many, blank or too long statements.
        ScopeTooWide: the decision would rest on more than 900 aggregates.
    """
    answer = compose(selected.facts, ground.language)
    return _draft(run, ground, answer, selected=selected)


def draft_refusal(run: Run, ground: Ground, outcome: Outcome, detail: str | None = None) -> Draft:
    """Return the draft of a refusal: its fixed explanation and nothing else.

    Raises:
        ScopeTooWide: as `draft_answer`.
    """
    answer = Answer(text=explanation(outcome, ground.language))
    return _draft(run, ground, answer, outcome=outcome, detail=detail)


def ground_of(
    run: Run,
    admitted: RunAdmitted,
    *,
    coverage: CoverageReport | None,
    index_position: int,
    pinned: tuple[Pinned, ...] = (),
    selector: str | None = None,
) -> Ground:
    """Return the ground of a run as it was admitted."""
    assert run.policy_sha256 is not None
    return Ground(
        policy=PolicyPin(admitted.policy_revision, run.policy_sha256, admitted.mode),
        language=admitted.language,
        barrier=admitted.barrier,
        index_position=index_position,
        coverage=coverage,
        selector=selector,
        pinned=pinned,
        corpus=_corpus(admitted.corpus),
    )


def _corpus(asked: AskedCorpus | None) -> CorpusReference | None:
    if asked is None:
        return None
    return CorpusReference(id=asked.id, key=asked.key, declaration_sha256=asked.declaration_sha256)


def release_id_of(tenant: str, run_id: str, generation: int) -> str:
    """Return the id of the one release that a generation of a run can have."""
    return derived_id("release", tenant, run_id, str(generation))


def _draft(
    run: Run,
    ground: Ground,
    answer: Answer,
    *,
    selected: Selected | None = None,
    outcome: Outcome | None = None,
    detail: str | None = None,
) -> Draft:
    executions: Sequence[Execution] = () if selected is None else selected.executions
    seed = secrets.token_bytes(SEED_BYTES)
    references = () if selected is None else _committed(selected.references, seed)
    salts = derive_salts(seed, len(executions))
    release_id = release_id_of(run.tenant, run.run_id, run.generation)
    encoded = encode_answer(answer)
    core = build_core(
        _record(run, ground, release_id, seed),
        answer,
        salts,
        outcome=outcome,
        references=references,
        corpus=ground.corpus,
        executions=executions,
        values=() if selected is None else selected.cells,
        encoded=encoded,
    )
    core_bytes = core.to_bytes()
    pinned = ground.pinned if selected is None else selected.pinned
    request = release_request(run, ground.policy, pinned, ground.corpus)
    return Draft(
        run=run,
        release_id=release_id,
        outcome=outcome,
        language=ground.language,
        request=request,
        read_set=read_set(request),
        answer=answer,
        seed=seed,
        salts=salts,
        encoded=encoded,
        core=core,
        core_bytes=core_bytes,
        core_sha256=salted_hash(salts.core, core_bytes),
        executions=tuple(executions),
        detail=detail,
    )


def _committed(references: Sequence[Reference], seed: bytes) -> tuple[Reference, ...]:
    """Return the references with nothing that tells of what is hidden in a dataset."""
    salt = snapshot_salt(seed)
    return tuple(
        committed(each, salt)
        if isinstance(each, SourceReference) and each.kind == "dataset"
        else each
        for each in references
    )


def _record(run: Run, ground: Ground, release_id: str, seed: bytes) -> RunRecord:
    return RunRecord(
        tenant=run.tenant,
        run_id=run.run_id,
        release_id=release_id,
        generation=run.generation,
        workspace_id=run.workspace_id,
        conversation_id=run.conversation_id,
        message=run.message,
        principal=run.principal,
        credential_id=run.credential_id,
        mode=run.mode,
        policy_revision=ground.policy.revision,
        policy_sha256=ground.policy.sha256,
        language=ground.language,
        selector=ground.selector,
        barrier=ground.barrier,
        index_position=ground.index_position,
        coverage=ground.coverage,
        question_sha256=commitment(question_salt(seed), run.question_sha256),
    )
