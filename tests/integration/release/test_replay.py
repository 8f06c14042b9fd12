"""A thousand decisions that were recorded are derived again from the log alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import pytest
from pydantic import TypeAdapter

from chancery.authority.evolve import evolve
from chancery.authority.names import AggregateRef, principal_ref
from chancery.authority.release import Allow, Decision, Deny, decide_release
from chancery.authority.states import State
from chancery.bus.connection import Connection
from chancery.bus.load import last_sequence
from chancery.bus.reader import PullReader
from chancery.events.authority import (
    AggregateKind,
    CutTaken,
    GroupJoined,
    SourceGranted,
    SourceGrantRevoked,
)
from chancery.events.codec import decode
from chancery.events.topology import AUTHORITY, RELEASE_AUTHORITY_REBUILD, consumer
from chancery.evidence.receipt import Receipt
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id
from chancery.release.domain.drafts import Draft, Ground, draft_answer
from chancery.release.domain.marks import Mark
from chancery.release.domain.runs import Run
from chancery.release.domain.selection import Selected
from chancery.release.handlers import proposed
from chancery.release.handlers.sealer import ATTEMPTS_MAX
from chancery.store.pool import connect as connect_database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.test_moves import propose_to
from tests.integration.release.test_rebuild import authority, index, rows_of
from tests.integration.release.test_seal import TEXT
from tests.integration.release.world import World

pytestmark = pytest.mark.integration

DECISIONS = 1_000
SOURCES = 4
AT_ONCE = 16
READER = "carl"
PATIENCE_S = 300
Decided: TypeAlias = Counter[tuple[str, bool]]
"""How many runs of each source were sealed, and were not."""
_KIND: TypeAdapter[AggregateKind] = TypeAdapter(AggregateKind)
COLUMNS = (
    "tenant, workspace_id, conversation_id, message, principal, credential_id, generation, lease,"
    " deadline, mode, bounds, question_sha256, traceparent, policy_sha256, admitted, gathered"
)


@dataclass(slots=True)
class Prepared:
    """What the seal of a run starts from."""

    run: Run
    ground: Ground
    selected: Selected

    def draft(self, run_id: str) -> Draft:
        """Return the draft of a copy of the run."""
        return draft_answer(replace(self.run, run_id=run_id), self.ground, self.selected)


async def prepare(world: World, source: Published, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """Play a run of the reader to its draft, and keep that."""
    kept: list[Prepared] = []

    def keep(run: Run, ground: Ground, selected: Selected) -> Draft:
        kept.append(Prepared(run, ground, selected))
        return draft_answer(run, ground, selected)

    admitted = await world.admitted(await world.ask(who=READER, sources=(source.source_id,)))
    await world.gather(admitted, source)
    with monkeypatch.context() as patched:
        patched.setattr(proposed, "draft_answer", keep)
        await propose_to(world.parts.seal, admitted, source)
    return kept[0]


async def copy_run(world: World, prepared: Prepared, count: int) -> list[str]:
    """Store copies of a run that wait for their seal."""
    run_ids = [random_id() for _ in range(count)]
    query = (
        f"INSERT INTO release.run ({COLUMNS}, run_id, state, events)"
        f" SELECT {COLUMNS}, copy, 'proposed', 4"
        " FROM release.run CROSS JOIN unnest($2::text[]) AS copy WHERE run_id = $1"
    )
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        await db.execute(query, prepared.run.run_id, run_ids)
    return run_ids


@asynccontextmanager
async def moving(world: World, sources: list[Published], decided: Decided) -> AsyncGenerator[None]:
    """Take the reader's grants away and give them back, all the time."""
    done = asyncio.Event()

    async def stay(source: Published, *, is_granted: bool) -> None:
        """Leave it as it is until a run was decided as it is now."""
        before = decided[source.source_id, is_granted]
        await eventually(
            lambda: done.is_set() or decided[source.source_id, is_granted] > before, PATIENCE_S
        )

    async def move(source: Published) -> None:
        while not done.is_set():
            await world.append(source.ref, SourceGrantRevoked(grantee=READER))
            await world.append(principal_ref("dora"), GroupJoined(group=random_id()))
            await stay(source, is_granted=False)
            await world.append(source.ref, SourceGranted(grantee=READER))
            await stay(source, is_granted=True)

    async with asyncio.TaskGroup() as tasks:
        for source in sources:
            tasks.create_task(move(source))
        try:
            yield
        finally:
            done.set()


async def seal_all(
    world: World, drafts: list[tuple[str, Draft]], decided: Decided
) -> dict[str, str]:
    """Seal the draft of each source, several at once; return what became of each run."""
    outcomes: dict[str, str] = {}
    left = iter(drafts)

    async def work() -> None:
        for source_id, draft in left:
            outcome = await world.parts.sealer.seal(draft)
            outcomes[draft.run.run_id] = outcome
            decided[source_id, outcome == "sealed"] += 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(work())
    return outcomes


@dataclass(slots=True)
class Derived:
    """A decision as the log alone gives it, at the last cut of its run."""

    sequence: int
    attempt: int
    decision: Decision
    read: tuple[tuple[str, str, int, str | None], ...]
    digest: str
    payload_sha256: str


@dataclass(slots=True)
class Replay:
    """Folds the log from its beginning, and decides again at each cut."""

    drafts: Mapping[str, Draft]
    mark: Mark = field(default_factory=Mark)
    states: dict[AggregateRef, State] = field(default_factory=dict[AggregateRef, State])
    moved: dict[AggregateRef, tuple[int, str]] = field(
        default_factory=dict[AggregateRef, tuple[int, str]]
    )
    derived: dict[str, Derived] = field(default_factory=dict[str, Derived])

    def take(self, sequence: int, subject: str, payload: bytes) -> None:
        """Fold one message."""
        self.mark = self.mark.cover(sequence, payload)
        event = decode(payload)
        if isinstance(event.data, CutTaken):
            self._decide(sequence, event.data, payload)
            return
        _, _, kind, key = subject.split(".")
        ref = AggregateRef(_KIND.validate_python(kind), key)
        self.states[ref] = evolve(kind, self.states.get(ref), event.data)
        self.moved[ref] = (sequence, event.id)

    def _decide(self, sequence: int, cut: CutTaken, payload: bytes) -> None:
        draft = self.drafts.get(cut.run_id)
        if draft is None:
            return
        names = [(name.kind, name.id) for name in cut.read_set]
        assert names == [(ref.kind, ref.id) for ref in draft.read_set]
        states = {ref: self.states.get(ref) for ref in draft.read_set}
        self.derived[cut.run_id] = Derived(
            sequence,
            cut.attempt,
            decide_release(states, frozenset(), draft.request, cut.decided_at),
            tuple(self._read(ref) for ref in draft.read_set),
            self.mark.digest.hex(),
            sha256_hex(payload),
        )

    def _read(self, ref: AggregateRef) -> tuple[str, str, int, str | None]:
        sequence, event_id = self.moved.get(ref, (0, None))
        return ref.kind, ref.id, sequence, event_id


async def replayed(bus: Connection, drafts: Mapping[str, Draft]) -> Replay:
    """Replay the whole log."""
    replay, last = Replay(drafts), (await last_sequence(bus, AUTHORITY)).last
    reader = PullReader(bus, consumer(RELEASE_AUTHORITY_REBUILD))
    async for batch in reader.read(0):
        for each in batch:
            replay.take(each.sequence, each.subject, each.payload)
        if replay.mark.sequence >= last:
            break
    return replay


async def receipts_of(world: World, run_ids: list[str]) -> dict[str, Receipt]:
    """Return the receipts of sealed runs."""
    query = (
        "SELECT r.run_id, p.body FROM release.release AS r"
        " JOIN release.receipt AS p USING (tenant, release_id) WHERE r.run_id = ANY ($1::text[])"
    )
    async with connect_database(world.database.superuser_dsn, name="test") as db:
        rows = await db.fetch(query, run_ids)
    return {row["run_id"]: Receipt.from_bytes(row["body"]) for row in rows}


def recorded(receipt: Receipt) -> Derived:
    """Return what a receipt says of its decision."""
    assert receipt.cut is not None
    return Derived(
        receipt.cut.sequence,
        receipt.cut.attempt,
        Allow(receipt.cut.effective_expiry),
        tuple((each.kind, each.id, each.sequence, each.event_id) for each in receipt.read_set),
        receipt.cut.authority_digest,
        receipt.cut.payload_sha256,
    )


@pytest.mark.req("EV-5", "XB-1", "CR-5", "KO-12")
async def test_a_thousand_decisions_are_derived_again_from_the_log_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.join(READER, expires_at=datetime.now(UTC) + timedelta(hours=1))
    sources: list[Published] = []
    drafts: dict[str, Draft] = {}
    decided: Decided = Counter()
    source_of: dict[str, str] = {}
    for number in range(SOURCES):
        source = await world.publish_source(f"s{number}", TEXT, visibility="restricted")
        await world.append(source.ref, SourceGranted(grantee=READER))
        prepared = await prepare(world, source, monkeypatch)
        sources.append(source)
        copies = await copy_run(world, prepared, DECISIONS // SOURCES)
        drafts |= {run_id: prepared.draft(run_id) for run_id in copies}
        source_of |= dict.fromkeys(copies, source.source_id)
    mixed = [(source_of[run_id], drafts[run_id]) for run_id in sorted(drafts)]

    async with moving(world, sources, decided):
        outcomes = await seal_all(world, mixed, decided)

    replay = await replayed(world.bus, drafts)
    receipts = await receipts_of(world, list(drafts))
    sealed = {run_id for run_id, outcome in outcomes.items() if outcome == "sealed"}
    assert len(replay.derived) == len(outcomes) == DECISIONS
    assert set(receipts) == sealed
    denied = {run_id for run_id, each in replay.derived.items() if isinstance(each.decision, Deny)}
    assert {run_id: recorded(receipts[run_id]) for run_id in sealed} == {
        run_id: replay.derived[run_id] for run_id in sealed
    }
    restless = set(outcomes) - sealed - denied
    assert all(replay.derived[run_id].attempt == ATTEMPTS_MAX for run_id in restless)
    # Both kinds of decision were among them.
    assert sealed
    assert denied
    assert not denied & sealed

    rebuilt = await authority(world.bus, world.database).rebuild(lambda _: None)
    await index(world.bus, world.database).rebuild(lambda _: None)
    await world.parts.authority.position.wait(rebuilt.mark.sequence, timeout_s=30)
    assert await rows_of(world.database, 2) == await rows_of(world.database, 1)
    assert rebuilt.mark.digest == replay.mark.digest
    assert (await authority(world.bus, world.database).switch()).digest == replay.mark.digest
