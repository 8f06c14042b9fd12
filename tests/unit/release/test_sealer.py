"""The sealing protocol against a desk and a log that fail where the test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from chancery.attest.sealing import ReleaseKey
from chancery.attest.signing import SigningKey
from chancery.authority.names import AggregateRef, principal_ref, tenant_ref, workspace_ref
from chancery.authority.policies import policy_hash
from chancery.authority.states import (
    Credential,
    PrincipalState,
    State,
    TenantState,
    WorkspaceState,
)
from chancery.events.run import Bounds
from chancery.evidence.coverage import CoverageReport
from chancery.evidence.receipt import ReadEntry
from chancery.kernel.errors import Unavailable
from chancery.release.domain.drafts import Draft, Ground, draft_refusal
from chancery.release.domain.releases import Release
from chancery.release.domain.runs import LockedRun, PolicyPin, Run
from chancery.release.domain.sealing import Cut, Judged, Sealable, SealedRows
from chancery.release.domain.snapshot import CutSnapshot, Snapshot
from chancery.release.errors import AlreadySealed, LogRegressed
from chancery.release.handlers.sealer import ATTEMPTS_MAX, Sealer
from chancery.release.ports.position import Position

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHA = "0" * 64
RUN = Run(
    tenant="acme",
    run_id="run",
    workspace_id="w",
    conversation_id="talk",
    message=1,
    principal="anna",
    credential_id="c",
    state="proposed",
    generation=1,
    lease="lease",
    deadline=NOW + timedelta(minutes=1),
    mode="auto",
    bounds=Bounds(),
    question_sha256=SHA,
    traceparent=None,
    policy_sha256=policy_hash(None),
    admitted=None,
    gathered=None,
    proposed=None,
    detail=None,
    events=4,
    ended_at=None,
)
COVERAGE = CoverageReport(state="complete", eligible=0, ready=0, pending=0, failed=0, unavailable=0)
GROUND = Ground(
    policy=PolicyPin("0", policy_hash(None), "auto"),
    language="en",
    barrier=1,
    index_position=0,
    coverage=COVERAGE,
)


def draft() -> Draft:
    return draft_refusal(RUN, GROUND, "insufficient_evidence")


def _locked(run: Run | None) -> LockedRun | None:
    if run is None:
        return None
    return LockedRun(run.state, run.generation, run.lease, run.events, run.is_open)


@dataclass(slots=True)
class Stage:
    """Log, database and record in memory; `before_commit` and `after_commit` may raise."""

    run: Run | None = RUN
    expires_at: datetime | None = None
    clock_is: datetime = NOW
    checkpoint_behind: int = 0
    moves_after_cut: int = 0
    before_commit: Callable[[], None] = lambda: None
    after_commit: Callable[[], None] = lambda: None
    cuts: list[int] = field(default_factory=list[int])
    sealed: list[SealedRows] = field(default_factory=list[SealedRows])
    announced: int = 0
    sent: int = 0

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        self.cuts.append(10 * attempt)
        return Cut(10 * attempt, attempt, SHA, decided_at)

    async def payload(self, sequence: int) -> bytes | None:
        return None

    async def clock(self) -> datetime:
        return NOW

    async def read(self, tenant: str, run_id: str, generation: int) -> Release | None:
        if not self.sealed:
            return None
        rows = self.sealed[0]
        return Release(
            tenant=tenant,
            release_id=rows.draft.release_id,
            run_id=run_id,
            generation=generation,
            outcome=rows.draft.outcome,
            workspace_id="w",
            principal="anna",
            cut_sequence=0,
            decided_at=NOW,
            language="en",
            request=rows.draft.request,
            receipt_sha256=rows.receipt_sha256,
            receipt=rows.receipt_bytes,
            public_key=rows.public_key,
            signature=rows.signature,
            keys=ReleaseKey(rows.keys.key, rows.keys.salt),
        )

    async def read_last(self, tenant: str, run_id: str) -> tuple[Run | None, Release | None]:
        return self.run, await self.read(tenant, run_id, 1)

    async def contents(self, release: Release, *kinds: str) -> dict[str, bytes]:
        return {}

    async def seal(self, sealable: Sealable) -> Judged:
        cut = sealable.cut
        read = None if cut is None else self.read_at_cut(sealable.draft.read_set, cut.sequence)
        judged = sealable.judge(_locked(self.run), read, self.clock_is)
        if isinstance(judged, SealedRows):
            self.before_commit()
            self.sealed.append(judged)
            self.after_commit()
        return judged

    async def send(self, subject: str, payload: bytes) -> None:
        self.sent += 1

    def read_at_cut(self, refs: Sequence[AggregateRef], cut: int) -> CutSnapshot:
        credential = Credential(SHA, self.expires_at)
        known: dict[AggregateRef, State | None] = {
            tenant_ref("acme"): TenantState(),
            workspace_ref("w"): WorkspaceState("W", "anna"),
            principal_ref("anna"): PrincipalState(
                credentials={"c": credential}, memberships={"w": "reader"}
            ),
        }
        moved = cut + 1 if len(self.cuts) <= self.moves_after_cut else 1
        entries = tuple(
            ReadEntry(kind=ref.kind, id=ref.id, sequence=0)
            if ref not in known
            else ReadEntry(
                kind=ref.kind,
                id=ref.id,
                sequence=moved,
                type="t",
                event_id="e",
                payload_sha256=SHA,
            )
            for ref in refs
        )
        states = {ref: known.get(ref) for ref in refs}
        checkpoint = cut - self.checkpoint_behind
        snapshot = Snapshot(checkpoint, self.clock_is, states, frozenset())
        return CutSnapshot(snapshot, entries, b"d" * 32, 1)


class Passed(Position):
    """A position behind every cut that the projection has passed at once."""

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        self.advance(sequence)


def sealer(stage: Stage) -> Sealer:
    return Sealer(
        stage,
        stage,
        stage,
        stage,
        Passed(),
        key=SigningKey(bytes(range(32))),
        on_sealed=lambda: None,
    )


def away() -> None:
    message = "the database is away"
    raise Unavailable(message)


def raced() -> None:
    message = "another one was first"
    raise AlreadySealed(message)


async def test_an_undisturbed_draft_is_sealed_with_one_cut() -> None:
    stage = Stage()

    assert await sealer(stage).seal(draft()) == "sealed"
    assert stage.cuts == [10]
    assert [rows.frame_number for rows in stage.sealed] == [5]
    assert stage.sent == 1


async def test_a_commit_whose_answer_was_lost_is_read_back() -> None:
    stage = Stage(after_commit=away)

    assert await sealer(stage).seal(draft()) == "sealed"
    assert len(stage.sealed) == 1


async def test_a_commit_that_failed_seals_nothing_and_says_unavailable() -> None:
    stage = Stage(before_commit=away)

    with pytest.raises(Unavailable):
        await sealer(stage).seal(draft())
    assert stage.sealed == []


@pytest.mark.req("KO-13")
async def test_the_second_of_two_sealers_finds_the_first_ones_release() -> None:
    stage = Stage()
    await sealer(stage).seal(draft())
    second = Stage(before_commit=raced, sealed=list(stage.sealed))

    assert await sealer(second).seal(draft()) == "sealed"
    assert second.sealed == stage.sealed


@pytest.mark.parametrize("moves", [1, 3])
async def test_a_row_that_moved_after_the_cut_takes_another_cut(moves: int) -> None:
    stage = Stage(moves_after_cut=moves)

    assert await sealer(stage).seal(draft()) == "sealed"
    assert len(stage.cuts) == moves + 1


async def test_five_cuts_are_the_most() -> None:
    stage = Stage(moves_after_cut=100)

    assert await sealer(stage).seal(draft()) == "changing"
    assert len(stage.cuts) == ATTEMPTS_MAX == 5
    assert stage.sealed == []


@pytest.mark.parametrize("seconds", [-6, 6])
async def test_a_clock_that_is_five_seconds_off_never_seals(seconds: int) -> None:
    stage = Stage(clock_is=NOW + timedelta(seconds=seconds))

    assert await sealer(stage).seal(draft()) == "changing"
    assert stage.sealed == []
    stage = Stage(clock_is=NOW + timedelta(seconds=seconds / 2))
    assert await sealer(stage).seal(draft()) == "sealed"


async def test_an_expiry_between_decision_and_commit_keeps_the_answer_back() -> None:
    stage = Stage(expires_at=NOW + timedelta(seconds=1), clock_is=NOW + timedelta(seconds=1))

    assert await sealer(stage).seal(draft()) == "changing"
    assert stage.sealed == []


@pytest.mark.parametrize(
    "run",
    [
        None,
        replace(RUN, lease="another"),
        replace(RUN, generation=2),
    ],
    ids=["no run", "another lease", "another generation"],
)
async def test_a_lease_that_no_longer_counts_seals_nothing(run: Run | None) -> None:
    stage = Stage(run=run)

    assert await sealer(stage).seal(draft()) == "void"
    assert stage.sealed == []
    assert stage.sent == 0


async def test_a_run_that_was_sealed_before_is_told_so() -> None:
    stage = Stage(run=replace(RUN, state="sealed", ended_at=NOW))

    assert await sealer(stage).seal(draft()) == "sealed"
    assert stage.sealed == []


async def test_a_refusal_without_coverage_needs_no_cut() -> None:
    bare = replace(GROUND, coverage=None)
    stage = Stage()

    assert await sealer(stage).refuse(draft_refusal(RUN, bare, "unavailable")) == "sealed"
    assert stage.cuts == []
    assert len(stage.sealed) == 1


async def test_every_attempt_to_seal_draws_a_fresh_key() -> None:
    first, second = Stage(), Stage()
    same = draft()

    await sealer(first).seal(same)
    await sealer(second).seal(same)

    assert first.sealed[0].keys.key != second.sealed[0].keys.key
    assert first.sealed[0].receipt_sha256 == second.sealed[0].receipt_sha256


async def test_a_cut_before_what_was_read_of_the_log_seals_nothing() -> None:
    stage = Stage()
    shrunk = sealer(stage)
    shrunk.position.advance(11)

    with pytest.raises(LogRegressed):
        await shrunk.seal(draft())

    assert (stage.cuts, stage.sealed) == ([10], [])
