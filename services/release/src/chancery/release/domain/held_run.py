"""The row of a run against the receipt of one of its generations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pydantic import ValidationError

from chancery.authority.release import ReleaseRequest
from chancery.events.commands import PostMessage
from chancery.events.run import ProposedQuote, RunAdmitted, RunGathered, RunProposed
from chancery.evidence.answer import quote_fact_id, value_fact_id
from chancery.evidence.receipt import ReceiptCore
from chancery.evidence.salts import commitment, question_salt
from chancery.kernel.errors import Corrupt
from chancery.release.domain.held_columns import CLOCK
from chancery.release.domain.runs import Run

ENDED_WITHIN: Final = timedelta(minutes=5)
"""A run ends in the transaction of its seal, which may hold many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The message that asked a run, and its conversation; None for what is not there."""

    run_id: str | None
    credential_id: str | None
    workspace_id: str | None
    principal: str | None
    body: object


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A run as its row holds it; `numbers` are those of its event rows, in order.

    `is_released` says that the generation that it is in has a release.
    """

    run: Run
    numbers: tuple[int, ...]
    is_released: bool
    asked: Asked


def is_as_asked(held: HeldRun) -> bool:
    """Tell whether message and conversation ask what the run answers; a retry has its own login."""
    run, asked = held.run, held.asked
    try:
        posted = PostMessage.model_validate(asked.body)
    except ValidationError:
        return False
    said = (asked.run_id, asked.workspace_id, asked.principal, posted.run_id)
    wish = (posted.conversation_id, posted.question_sha256, posted.mode, posted.bounds)
    is_same = said == (run.run_id, run.workspace_id, run.principal, run.run_id)
    is_same &= wish == (run.conversation_id, run.question_sha256, run.mode, run.bounds)
    return is_same and (run.generation > 1 or asked.credential_id == run.credential_id)


def wrong_of_run(
    held: HeldRun,
    core: ReceiptCore,
    *,
    sealed_at: datetime,
    request: ReleaseRequest | None,
    seed: bytes | None,
) -> Iterator[str]:
    """Yield the columns of a run that the receipt of a generation, or the run itself, disproves."""
    run = held.run
    for column in ("workspace_id", "conversation_id", "message", "principal", "mode"):
        if getattr(run, column) != getattr(core, column):
            yield column
    if seed is not None and not _was_asked(run.question_sha256, core, seed):
        yield "question_sha256"
    if held.numbers != tuple(range(1, run.events + 1)):
        yield "events"
    is_lost = not run.is_open and not held.is_released
    if run.generation < core.generation or is_lost:
        yield "generation"
    if run.generation == core.generation:
        yield from _wrong_of_generation(run, core, sealed_at, request)


def _was_asked(question_sha256: str, core: ReceiptCore, seed: bytes) -> bool:
    try:
        return commitment(question_salt(seed), question_sha256) == core.question_sha256
    except ValueError:
        return False


def _wrong_of_generation(
    run: Run, core: ReceiptCore, sealed_at: datetime, request: ReleaseRequest | None
) -> Iterator[str]:
    if run.credential_id != core.credential_id:
        yield "credential_id"
    if run.state != core.status:
        yield "state"
    if run.ended_at is None or not -CLOCK <= run.ended_at - sealed_at <= ENDED_WITHIN:
        yield "ended_at"
    if core.status == "sealed" and run.detail is not None:
        yield "detail"
    if core.status == "sealed" and run.policy_sha256 != core.policy_sha256:
        yield "policy_sha256"
    try:
        yield from _wrong_of_stages(run, core, request)
    except Corrupt:
        yield "stages"


def _wrong_of_stages(run: Run, core: ReceiptCore, request: ReleaseRequest | None) -> Iterator[str]:
    admitted, gathered, proposed = run.admission(), run.gathering(), run.proposal()
    if admitted is None:
        if (run.lease, gathered, proposed) != (None, None, None) or core.status == "sealed":
            yield "admitted"
        return
    yield from _wrong_of_admission(run, admitted, core)
    stages = (("gathered", gathered), ("proposed", proposed))
    for name, stage in stages:
        if stage is not None and not run_holds(run, stage):
            yield name
    if core.status != "sealed":
        return
    if gathered is None or not _was_gathered(gathered, core, request):
        yield "gathered"
    if proposed is None or not _was_proposed(run.tenant, proposed, core):
        yield "proposed"


def run_holds(run: Run, stage: RunGathered | RunProposed) -> bool:
    """Tell whether a stage is of the run, its generation and its lease."""
    said = (stage.run_id, stage.generation, stage.lease)
    return said == (run.run_id, run.generation, run.lease)


def _wrong_of_admission(run: Run, admitted: RunAdmitted, core: ReceiptCore) -> Iterator[str]:
    for column in ("lease", "deadline", "bounds", "question_sha256"):
        if getattr(run, column) != getattr(admitted, column):
            yield column
    said = (admitted.run_id, admitted.generation, admitted.workspace_id, admitted.principal)
    is_of = said == (core.run_id, core.generation, core.workspace_id, core.principal)
    under = (admitted.mode, admitted.policy_revision, admitted.language, admitted.barrier)
    if core.status == "sealed":
        is_of &= under == (core.mode, core.policy_revision, core.language, core.barrier)
    if not is_of:
        yield "admitted"


def _was_gathered(gathered: RunGathered, core: ReceiptCore, request: ReleaseRequest | None) -> bool:
    found = {(each.key, each.revision) for each in gathered.passages}
    found |= {(each.key, each.snapshot) for each in gathered.measures}
    if core.index_position > gathered.index_position:
        return False
    return request is None or found <= {(each.key, each.revision) for each in request.pinned}


def _was_proposed(tenant: str, proposed: RunProposed, core: ReceiptCore) -> bool:
    facts: list[str] = []
    for each in proposed.selections:
        if isinstance(each, ProposedQuote):
            document = (tenant, each.key, each.revision)
            facts.append(quote_fact_id(document, each.part_id, each.start, each.end))
        else:
            snapshot = (tenant, each.key, each.snapshot)
            facts.append(value_fact_id(snapshot, each.query_sha256, each.row, each.column))
    return proposed.selector == core.selector and tuple(facts) == core.fact_ids
