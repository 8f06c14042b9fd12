"""Whatever comes twice, late, or from two processes at once counts once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pytest

from chancery.authority.names import principal_ref
from chancery.bus.connection import Connection
from chancery.bus.load import Stored, read_subject
from chancery.events.authority import GroupJoined, SourceGranted, SourceGrantRevoked
from chancery.events.codec import decode
from chancery.events.envelope import Event
from chancery.events.queries import OfRun
from chancery.events.run import ActivityRecorded, RunAdmitted, RunGathered, RunProposed
from chancery.events.topology import AUTHORITY, RELEASE_AUTHORITY, consumer, cut_subject
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.release.adapters import cuts
from chancery.release.adapters.authority_rows import AuthorityApplier
from chancery.release.adapters.log_end import raise_fence
from chancery.release.adapters.projector import Turn
from chancery.release.domain.authority_fold import fold
from chancery.release.domain.drafts import Draft
from chancery.release.domain.marks import Mark
from chancery.release.domain.sealing import Cut
from chancery.release.errors import NotTheWriter
from chancery.release.handlers.barrier import Barrier
from chancery.release.handlers.proposed import SealRun
from chancery.release.ports.stores import CutLog
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.rounds import paused_projection
from tests.integration.release.stage import playing
from tests.integration.release.test_moves import propose_to
from tests.integration.release.test_projection import dump, fill, forget, projector, provisioned
from tests.integration.release.test_seal import (
    DELIVERY,
    QUOTE,
    TEXT,
    gathered_run,
    outcome_of,
    receipt_of,
)
from tests.integration.release.world import TENANT, World, event_of, request_of

pytestmark = pytest.mark.integration

READER = "bert"
REPEATED_FROM = 20


async def cuts_of(world: World, run_id: str) -> list[int]:
    """Return where the cuts of a run are on the log."""
    return [
        each.sequence
        async for each in read_subject(world.bus, AUTHORITY, cut_subject(TENANT))
        if decode(each.payload).envelope.subject == run_id
    ]


# A fence whose acknowledgement is late ---------------------------------------------------------


@dataclass(slots=True)
class LateFence:
    """Fences of which the first one's acknowledgement comes when the test says so."""

    bus: Connection
    stored: asyncio.Future[int] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def read_end(self) -> int:
        """Raise a fence and return its position."""
        sequence = await raise_fence(self.bus, SystemClock())
        if not self.stored.done():
            self.stored.set_result(sequence)
            await self.told.wait()
        return sequence


@dataclass(slots=True)
class JoiningBarrier(Barrier):
    """What must not be: a waiter shares a fence that was sent before it came."""

    sent: asyncio.Future[int] | None = None

    async def pass_through(self) -> int:
        """Pass with the fence that is on its way."""
        assert self.sent is not None
        outcome = await asyncio.shield(self.sent)
        await self.position.wait(outcome, timeout_s=self.timeout_s)
        return outcome


async def sealed_for_reader(world: World) -> tuple[str, Published]:
    source = await world.publish_source("dossier", TEXT, visibility="restricted")
    await world.append(source.ref, SourceGranted(grantee=READER))
    run_id = await world.ask(who=READER)
    admitted = await world.admitted(run_id)
    await world.gather(admitted, source)
    await world.propose(admitted, source.quote(QUOTE))
    assert (await world.ended(run_id, who=READER)).status == "sealed"
    return run_id, source


async def read_behind(world: World, barrier: Barrier, run_id: str) -> str:
    disclosures = world.parts.disclosures
    gate = replace(disclosures.discloser.gate, barrier=barrier)
    discloser = replace(disclosures.discloser, gate=gate)
    request = request_of("answer", OfRun(run_id=run_id), who=READER)
    return (await replace(disclosures, discloser=discloser).answer(request)).status


@pytest.mark.req("XB-1", "CL-12")
async def test_a_revocation_between_a_fence_and_a_new_waiter_is_not_overlooked(
    world: World,
) -> None:
    run_id, source = await sealed_for_reader(world)
    position = world.parts.authority.position
    fence = LateFence(world.bus)
    barrier = Barrier(fence.read_end, position)
    joining = JoiningBarrier(fence.read_end, position, sent=fence.stored)
    async with asyncio.TaskGroup() as tasks:
        early = tasks.create_task(barrier.pass_through())
        await position.wait(await fence.stored, timeout_s=30)
        async with paused_projection(world.database):
            revoked_at = await world.append(source.ref, SourceGrantRevoked(grantee=READER))
            late = tasks.create_task(read_behind(world, barrier, run_id))
            # The control: whoever shares the fence that was on its way discloses.
            joined = await read_behind(world, joining, run_id)
            fence.told.set()
            await eventually(lambda: position.is_awaited)

    assert early.result() < revoked_at
    assert joined == "sealed"
    assert late.result() == "withheld"


# A cut whose acknowledgement is lost -----------------------------------------------------------


@dataclass(slots=True)
class LossyCuts:
    """Cuts of which the first is stored, and never acknowledged."""

    real: CutLog
    lost: list[int] = field(default_factory=list[int])

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish a cut."""
        cut = await self.real.publish(draft, attempt=attempt, decided_at=decided_at)
        if not self.lost:
            self.lost.append(cut.sequence)
            message = "no acknowledgement came"
            raise Unavailable(message)
        return cut

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of a cut."""
        return await self.real.payload(sequence)


def with_cuts(world: World, log: CutLog) -> SealRun:
    handler = world.parts.seal
    sealer = replace(handler.ending.sealer, cuts=log)
    return replace(handler, ending=replace(handler.ending, sealer=sealer))


@pytest.mark.req("XB-1", "EV-6", "KO-13")
@pytest.mark.parametrize("is_revoked", [False, True])
async def test_a_cut_without_acknowledgement_counts_for_nothing(
    world: World, is_revoked: bool
) -> None:
    admitted, source = await gathered_run(world)
    lossy = LossyCuts(world.parts.sealer.cuts)
    with pytest.raises(Unavailable):
        await propose_to(with_cuts(world, lossy), admitted, source)
    assert await world.count("release", admitted.run_id) == 0
    if is_revoked:
        await world.withdraw(source.source_id)

    await propose_to(with_cuts(world, lossy), admitted, source)

    found = await cuts_of(world, admitted.run_id)
    assert found[0] == lossy.lost[0]
    assert len(found) == 2
    if is_revoked:
        # At the position of the first cut it would have been sealed.
        assert await outcome_of(world, admitted.run_id) == ("refused", "access_changing")
    else:
        receipt = await receipt_of(world, admitted.run_id)
        assert receipt.cut is not None
        assert receipt.cut.sequence == found[1]
    assert await world.count("release", admitted.run_id) == 1


async def test_a_cut_that_the_log_takes_for_an_old_one_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted, source = await gathered_run(world)
    lossy = LossyCuts(world.parts.sealer.cuts)
    monkeypatch.setattr(cuts, "random_id", lambda: "the-same")
    with pytest.raises(Unavailable):
        await propose_to(with_cuts(world, lossy), admitted, source)

    with pytest.raises(Unavailable) as caught:
        await propose_to(with_cuts(world, lossy), admitted, source)

    assert caught.value.code == "cut_duplicate"
    assert await world.count("release", admitted.run_id) == 0


# Two processes at once -------------------------------------------------------------------------


@dataclass(slots=True)
class Meeting:
    """Cuts of two processes: neither goes on before both have been published."""

    real: CutLog
    together: asyncio.Barrier

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish a cut, and wait for the other one's."""
        cut = await self.real.publish(draft, attempt=attempt, decided_at=decided_at)
        await self.together.wait()
        return cut

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of a cut."""
        return await self.real.payload(sequence)


@asynccontextmanager
async def two_worlds(
    nats_url: str, database: Database, folder: Path
) -> AsyncGenerator[tuple[World, World, AsyncExitStack]]:
    """Run two release services on the same servers; the stack ends the first."""
    async with AsyncExitStack() as first_lives:
        first = await first_lives.enter_async_context(playing(nats_url, database, folder))
        async with playing(nats_url, database, folder, provision=False) as second:
            yield first, second, first_lives


@pytest.mark.req("KO-13", "EV-6", "XB-1")
async def test_two_processes_that_seal_the_same_proposal_make_one_release(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with two_worlds(nats_url, database, tmp_path) as (first, second, _):
        admitted, source = await gathered_run(first)
        together = asyncio.Barrier(2)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for world in (first, second):
                handler = with_cuts(world, Meeting(world.parts.sealer.cuts, together))
                tasks.create_task(propose_to(handler, admitted, source))

        # The control: both went as far as their cut.
        assert len(await cuts_of(first, admitted.run_id)) == 2
        assert await first.count("release", admitted.run_id) == 1
        assert await outcome_of(second, admitted.run_id) == ("sealed", None)


@pytest.mark.req("EV-5", "EV-6", "CL-12")
async def test_two_processes_share_the_work_and_one_takes_over(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with two_worlds(nats_url, database, tmp_path) as (first, second, first_lives):
        source = await first.publish_source("handbook", TEXT)
        runs = [await first.answer_with((source, QUOTE)) for _ in range(6)]
        for run_id in runs:
            assert (await first.ended(run_id)).status == "sealed"
            assert await first.count("release", run_id) == 1
        writers = [each.parts.authority.is_writer for each in (first, second)]

        await first_lives.aclose()
        await eventually(lambda: second.parts.authority.is_writer)
        last = await second.append(principal_ref("dora"), GroupJoined(group="staff"))
        await second.parts.authority.position.wait(last, timeout_s=30)
        await second.withdraw("handbook")
        later = [(await second.document("answer", run_id)).status for run_id in runs]

    assert sorted(writers) == [False, True]
    assert set(later) == {"withheld"}


async def messages_of(bus: Connection, last: int) -> list[Stored]:
    found = [
        each
        for subject in (f"authority.{TENANT}.>", "fence")
        async for each in read_subject(bus, AUTHORITY, subject)
    ]
    assert len(found) >= last - 1
    return sorted(found, key=lambda each: each.sequence)


@pytest.mark.req("EV-6", "EV-5")
@pytest.mark.parametrize("prefix", [1, REPEATED_FROM, 41])
async def test_any_prefix_that_a_second_projector_delivers_again_changes_nothing(
    nats_url: str, database: Database, prefix: int
) -> None:
    async with provisioned(nats_url) as bus:
        messages = await messages_of(bus, await fill(bus))
        await projector(bus, database).prepare()
        async with connect_database(database.dsn("release"), name="test") as db:
            mark = await Turn(db, 1, AuthorityApplier(), "authority").apply(Mark(), messages)
            once = await dump(database)
            await forget(database)
            await projector(bus, database).prepare()

            first = Turn(db, 1, AuthorityApplier(), "authority")
            second = Turn(db, 1, AuthorityApplier(), "authority")
            halfway = await first.apply(Mark(), messages[:prefix])
            with pytest.raises(NotTheWriter):
                await second.apply(Mark(), messages[:prefix])
            twice_mark = await first.apply(halfway, messages[prefix:])
            twice = await dump(database)

            # The control: with the checkpoint set back the same messages are folded twice. Not to
            # the beginning, where a projector knows that there are no rows and reads none.
            reset = "UPDATE release.checkpoint SET sequence = $1, digest = $2, anchor_sequence = $1"
            before = fold(Mark(), {}, messages[:REPEATED_FROM]).mark
            await db.execute(reset, before.sequence, before.digest)
            await second.apply(before, messages[REPEATED_FROM:])
            unguarded = await dump(database)

    assert consumer(RELEASE_AUTHORITY).reader
    assert (twice, twice_mark) == (once, mark)
    assert unguarded != once


# The stages of a run ---------------------------------------------------------------------------

Deliver = Callable[[Event], Awaitable[None]]


async def stages_of(
    world: World, admitted: RunAdmitted, source: Published
) -> list[tuple[Event, Deliver]]:
    """Return the events of the stages behind an admission, each with its way in."""
    ids = {
        "run_id": admitted.run_id,
        "generation": admitted.generation,
        "lease": admitted.lease,
    }
    gathered = RunGathered.model_validate(
        {**ids, "passages": (source.passage(),), "index_position": admitted.index_sequence}
    )
    activity = ActivityRecorded.model_validate(
        {**ids, "stage": "search", "tool": "tantivy", "count": 1, "duration_ms": 2}
    )
    proposed = RunProposed.model_validate(
        {**ids, "selector": "extractive", "selections": (source.quote(QUOTE),)}
    )
    stages, seal = world.parts.stages, world.parts.seal
    return [
        (event_of(gathered, subject=admitted.run_id), lambda e: stages.gathered(e, DELIVERY)),
        (event_of(activity, subject=admitted.run_id), lambda e: stages.activity(e, DELIVERY)),
        (event_of(proposed, subject=admitted.run_id), lambda e: seal(e, DELIVERY)),
    ]


@pytest.mark.req("EV-6", "KO-13")
async def test_any_prefix_of_the_stages_delivered_twice_equals_once(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    told: list[list[str]] = []
    releases: list[int] = []
    for prefix in range(4):
        admitted = await world.admitted(await world.ask())
        stages = await stages_of(world, admitted, source)
        for event, deliver in (*stages[:prefix], *stages[:prefix], *stages[prefix:], *stages):
            await deliver(event)
        rows = await world.rows(admitted.run_id)
        told.append([row.event for row in rows.rows])
        releases.append(await world.count("release", admitted.run_id))

    assert all(each == told[0] for each in told)
    assert told[0][-2:] == ["sealed", "end"]
    assert "activity" in told[0]
    assert releases == [1, 1, 1, 1]
