"""The new enemy: whoever lost access one acknowledged command ago must not be answered.

Each round grants, publishes, revokes with an acknowledgement, and in that moment releases. The
revocation is struck inside the protocol, right before the step that has to see it, so that nothing
but that step protects. A control leaves the step out and must be caught.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias, TypeVar

from chancery.authority.names import AggregateRef, source_ref
from chancery.bus.load import last_sequence
from chancery.bus.publish import publish
from chancery.events.authority import RevisionPublished, SourceGranted, SourceGrantRevoked
from chancery.events.envelope import EventData
from chancery.events.queries import Document, OfRun
from chancery.events.run import RunProposed, RunRequested
from chancery.events.topology import AUTHORITY
from chancery.kernel.errors import Unavailable
from chancery.release.domain.drafts import Draft
from chancery.release.domain.runs import LockedRun
from chancery.release.domain.sealing import Cut, Judged, Sealable
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.handlers.barrier import Barrier
from chancery.release.handlers.gate import Gate
from chancery.release.ports.position import Position
from chancery.release.ports.stores import CutLog, SealDesk
from chancery.runtime.delivery import Delivery
from chancery.store.pool import connect as connect_database
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.integration.release.published import Published
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of, request_of

TEXT = "Service reviews are owned by Mara Lindt. Note {number}.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
READER = "bert"
SIGMAS = 3.0
CAUGHT_ENOUGH = 5
CONTROL_ROUNDS_MAX = 100
DISTURBED_MAX = 50
DELIVERY = Delivery(
    stream="RUNS",
    sequence=1,
    consumer="test",
    subject="test",
    attempt=1,
    time=datetime(2026, 1, 1, tzinfo=UTC),
    pending=0,
    message_id=None,
)

T = TypeVar("T")
Strike: TypeAlias = Callable[[], Awaitable[None]]
Step: TypeAlias = Literal["seal", "disclose", "admit"]
STEPS: tuple[Step, ...] = ("seal", "disclose", "admit")


@dataclass(slots=True)
class Ambush:
    """Strikes once, right before the step under test."""

    strike: Strike | None = None

    async def spring(self) -> None:
        """Strike, unless it has happened."""
        strike, self.strike = self.strike, None
        if strike is not None:
            await strike()


@dataclass(slots=True)
class AmbushedCuts:
    """Strikes before the cut; unfenced, the cut is wherever this process thinks the log ends."""

    real: CutLog
    ambush: Ambush
    position: Position
    is_fenced: bool

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish the cut, or pretend to."""
        await self.ambush.spring()
        if self.is_fenced:
            return await self.real.publish(draft, attempt=attempt, decided_at=decided_at)
        return Cut(self.position.sequence, attempt, "0" * 64, decided_at)

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of the cut at a position."""
        return await self.real.payload(sequence)


class Oblivious(Position):
    """Waits as the real one, and does not remember what was read of the log."""

    def __init__(self, real: Position) -> None:
        super().__init__()
        self.real = real

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        """Return once the real one has passed `sequence`."""
        await self.real.wait(sequence, timeout_s=timeout_s)


@dataclass(slots=True)
class UnfencedDesk:
    """A desk that takes a cut for granted that nobody published."""

    real: SealDesk

    async def clock(self) -> datetime:
        """Return the database's clock."""
        return await self.real.clock()

    async def seal(self, sealable: Sealable) -> Judged:
        """Seal as if the log had a digest at the cut."""

        def judge(run: LockedRun | None, read: CutSnapshot | None, now: datetime) -> Judged:
            believed = None if read is None else replace(read, digest=bytes(32))
            return sealable.judge(run, believed, now)

        return await self.real.seal(replace(sealable, judge=judge))


@dataclass(slots=True)
class AmbushedBarrier(Barrier):
    """Strikes before the log's end is read; lowered, it asks nobody where that is."""

    ambush: Ambush | None = None
    is_lowered: bool = False

    async def pass_through(self) -> int:
        """Return the sequence that the projection has passed."""
        if self.ambush is not None:
            await self.ambush.spring()
        return self.position.sequence if self.is_lowered else await Barrier.pass_through(self)


@dataclass(slots=True)
class Rounds:
    """Plays rounds against one world; `protected` off is the control."""

    world: World
    is_protected: bool = True
    played: int = 0
    disturbed: int = 0

    @property
    def source(self) -> str:
        """Return the source at stake; after a disturbance nobody knows how the last one stands."""
        return f"dossier-{self.is_protected}-{self.disturbed}"

    async def play_undisturbed(self, step: Step) -> bool:
        """Play rounds until one is not cut short by something that is away."""
        while True:
            try:
                return await self.play(step)
            except* Unavailable:
                self.disturbed += 1
                assert self.disturbed < DISTURBED_MAX

    async def play(self, step: Step) -> bool:
        """Play one round; tell whether somebody was answered who had lost access."""
        self.played += 1
        await self.grant()
        match step:
            case "seal":
                return await self._seal()
            case "disclose":
                return await self._disclose()
            case "admit":
                return await self._admit()

    async def grant(self) -> None:
        """Let the reader see a fresh revision, and wait until everybody knows."""
        ref = source_ref(WORKSPACE, self.source)
        if self.source not in self.world.sources:
            await self.publish()
        sequence = await self.append(ref, SourceGranted(grantee=READER))
        await self.world.parts.authority.position.wait(sequence, timeout_s=30)

    async def publish(self) -> Published:
        """Publish the next revision of the restricted source."""
        text = TEXT.format(number=self.played)
        return await self.world.publish_source(self.source, text, visibility="restricted")

    async def revoke(self) -> None:
        """Take the reader's access away; returns when the log has acknowledged it."""
        await self.append(source_ref(WORKSPACE, self.source), SourceGrantRevoked(grantee=READER))

    async def append(self, ref: AggregateRef, data: EventData) -> int:
        """Append until it is acknowledged; the same message id is stored once."""
        event = event_of(data, subject=ref.id)

        async def acknowledged() -> int | None:
            try:
                return (await publish(self.world.bus, ref.subject(TENANT), event)).sequence
            except Unavailable:
                return None

        found = await eventually(acknowledged, 60)
        assert found is not None
        return found

    async def _seal(self) -> bool:
        run_id = await self._gathered()
        ambush = Ambush(self.revoke)
        handler, position = self.world.parts.seal, self.world.parts.authority.position
        sealer = handler.ending.sealer
        cuts = AmbushedCuts(sealer.cuts, ambush, position, self.is_protected)
        if not self.is_protected:
            sealer = replace(sealer, desk=UnfencedDesk(sealer.desk), position=Oblivious(position))
        ending = replace(handler.ending, sealer=replace(sealer, cuts=cuts))
        admitted = await self.world.admitted(run_id)
        data = RunProposed(
            run_id=run_id,
            generation=admitted.generation,
            lease=admitted.lease,
            selector="extractive",
            selections=(self.world.sources[self.source].quote(QUOTE),),
        )
        await self._during_a_pause(
            replace(handler, ending=ending)(event_of(data, subject=run_id), DELIVERY)
        )
        assert ambush.strike is None
        releases = self.world.parts.disclosures.discloser.releases
        release = await releases.read(TENANT, run_id, 1)
        assert release is not None
        return release.outcome is None

    async def _disclose(self) -> bool:
        run_id = await self._gathered()
        admitted = await self.world.admitted(run_id)
        await self.world.propose(admitted, self.world.sources[self.source].quote(QUOTE))
        assert (await self.world.ended(run_id, who=READER)).status == "sealed"
        disclosures = self.world.parts.disclosures
        discloser = replace(disclosures.discloser, gate=self._gate(Ambush(self.revoke)))
        request = request_of("answer", OfRun(run_id=run_id), who=READER)
        found: Document = await self._during_a_pause(
            replace(disclosures, discloser=discloser).answer(request)
        )
        assert found.status in {"sealed", "withheld"}
        return found.status == "sealed"

    async def _admit(self) -> bool:
        """Ask when the newest content was published after the revocation, and indexed already."""
        ref = source_ref(WORKSPACE, self.source)
        text, revision = (
            TEXT.format(number=self.played),
            self.world.sources[self.source].revision + 1,
        )
        published = RevisionPublished(
            revision=revision,
            content_sha256=await self.world.blobs.put(TENANT, text.encode()),
            media_type="text/plain",
            size_bytes=len(text.encode()),
        )
        last = (await last_sequence(self.world.bus, AUTHORITY)).last
        indexed = await self.world.make_ready(ref, self.source, revision, text, sequence=last + 2)

        async def strike() -> None:
            await self.revoke()
            await self.append(ref, published)
            self.world.sources[self.source] = indexed

        requested = await self.world.post(who=READER, sources=(self.source,))
        handler = replace(self.world.parts.admit, gate=self._gate(Ambush(strike)))
        event = event_of(requested, subject=requested.run_id, actor=READER)
        await self._during_a_pause(handler(event, DELIVERY))
        run = await self.world.parts.admit.runs.read(TENANT, requested.run_id)
        assert run is not None
        assert run.state in {"admitted", "refused"}
        return run.state == "admitted"

    async def _during_a_pause(self, step: Coroutine[object, object, T]) -> T:
        """Take the step with the projection held, until the step has to wait for it.

        A step that waits for nobody is taken before the projection has seen the strike, however
        fast that is: the control is caught each time, and the protection has its hardest case.
        """
        position = self.world.parts.authority.position
        async with asyncio.TaskGroup() as tasks, paused_projection(self.world.database):
            taken = tasks.create_task(step)
            await eventually(lambda: taken.done() or position.is_awaited)
        return taken.result()

    def _gate(self, ambush: Ambush) -> Gate:
        gate = self.world.parts.admit.gate
        barrier = AmbushedBarrier(
            gate.barrier.read_end,
            gate.barrier.position,
            ambush=ambush,
            is_lowered=not self.is_protected,
        )
        return replace(gate, barrier=barrier)

    async def _gathered(self) -> str:
        requested: RunRequested = await self.world.post(who=READER, sources=(self.source,))
        await self.world.tell(requested.run_id, "requested", requested, actor=READER)
        admitted = await self.world.admitted(requested.run_id)
        await self.world.gather(admitted, self.world.sources[self.source])
        return requested.run_id


@asynccontextmanager
async def paused_projection(database: Database) -> AsyncGenerator[None]:
    """Hold the checkpoint, so that the projection stands still and readers do not."""
    async with connect_database(database.superuser_dsn, name="test") as db, db.transaction():
        await db.execute("SELECT FROM release.checkpoint WHERE projection = 'authority' FOR UPDATE")
        yield


@asynccontextmanager
async def unread_checkpoints(database: Database) -> AsyncGenerator[None]:
    """Let nobody read a checkpoint, so that no projector compares the log meanwhile."""
    async with connect_database(database.superuser_dsn, name="test") as db, db.transaction():
        await db.execute("LOCK TABLE release.checkpoint IN ACCESS EXCLUSIVE MODE")
        yield


async def measure_control(control: Rounds, step: Step) -> int:
    """Play unprotected rounds until enough failed; return how many clean ones prove something."""
    caught = 0
    while caught < CAUGHT_ENOUGH and control.played < CONTROL_ROUNDS_MAX:
        caught += await control.play(step)
    return rounds_needed(caught, control.played)


def rounds_needed(caught: int, played: int) -> int:
    """Return how many clean rounds show, by three sigmas, that the protection does something.

    With the control's rate, so many rounds would see at least one failure with all but 0.27 %.
    """
    assert caught > 0, "the control never failed: the test could not see a failure either"
    rate = min(caught / played, 0.999)
    doubt = math.erfc(SIGMAS / math.sqrt(2))
    return math.ceil(math.log(doubt) / math.log(1 - rate))
