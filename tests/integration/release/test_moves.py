"""Whatever moves between the cut and the read: the answer is cut again or refused, never sealed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from chancery.authority.names import (
    AggregateRef,
    policy_ref,
    principal_ref,
    source_ref,
    tenant_ref,
    workspace_ref,
)
from chancery.bus.publish import Outgoing, publish_message
from chancery.events.authority import (
    CredentialRevoked,
    GroupJoined,
    GroupLeft,
    MemberRemoved,
    PolicyRevised,
    RevisionPublished,
    RevisionWithdrawn,
    SourceGranted,
    SourceGrantRevoked,
    TenantSuspended,
    VisibilityChanged,
    WorkspaceClosed,
)
from chancery.events.envelope import EventData
from chancery.events.run import Bounds, RunAdmitted, RunProposed
from chancery.release.adapters.evidence_reader import EvidenceReader
from chancery.release.domain.runs import LockedRun
from chancery.release.domain.sealing import Judged, Sealable
from chancery.release.domain.selection import Document, Pin
from chancery.release.domain.snapshot import CutSnapshot
from chancery.release.handlers.proposed import SealRun
from chancery.release.ports.stores import SealDesk
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.release.published import Published
from tests.integration.release.test_seal import (
    DELIVERY,
    QUOTE,
    TEXT,
    Latch,
    outcome_of,
    propose_with,
    sealing,
)
from tests.integration.release.world import TENANT, WORKSPACE, World, event_of

pytestmark = pytest.mark.integration

GROUP = "group:staff"
EXPIRES_S_MIN = 3.0
MARGIN = 10
SOURCES = 12

Strike = Callable[[], Awaitable[int]]


async def from_the_future(world: World, ref: AggregateRef, data: EventData) -> int:
    """Append an event in a version that this build does not know."""
    event = event_of(data, subject=ref.id)
    head = event.envelope.model_dump_json(exclude_none=True).replace(".v1", ".v9")
    payload = f'{head[:-1]},"data":{data.model_dump_json()}}}'.encode()
    subject = ref.subject(TENANT)
    outgoing = Outgoing(subject=subject, payload=payload, message_id=event.id)
    return (await publish_message(world.bus, outgoing)).sequence


ANNA, SOURCE = principal_ref("anna"), source_ref(WORKSPACE, "handbook")
SHA = "0" * 64
MOVES: dict[str, tuple[AggregateRef, EventData]] = {
    "credential": (ANNA, CredentialRevoked(credential_id="c-anna")),
    "grant": (SOURCE, SourceGrantRevoked(grantee=GROUP)),
    "group": (ANNA, GroupLeft(group="staff")),
    "membership": (ANNA, MemberRemoved(workspace_id=WORKSPACE)),
    "policy": (
        policy_ref(WORKSPACE),
        PolicyRevised(policy_revision="2", modes=("auto", "rag"), language="en"),
    ),
    "superseded": (
        SOURCE,
        RevisionPublished(revision=2, content_sha256=SHA, media_type="text/plain", size_bytes=1),
    ),
    "tenant": (tenant_ref(TENANT), TenantSuspended(reason="audit")),
    "visibility": (SOURCE, VisibilityChanged(visibility="private")),
    "withdrawn": (SOURCE, RevisionWithdrawn()),
    "workspace": (workspace_ref(WORKSPACE), WorkspaceClosed()),
}


async def gathered_run(
    world: World, *, source_id: str = "handbook", expires_at: datetime | None = None
) -> tuple[RunAdmitted, Published]:
    """Play a run of anna, who reads a restricted source as a member of a group, up to gathered."""
    source = await world.publish_source(source_id, TEXT, visibility="restricted", declarer="bert")
    await world.append(source.ref, SourceGranted(grantee=GROUP))
    who = "anna"
    if expires_at is not None:
        who = "carl"
        await world.join(who, expires_at=expires_at)
    await world.append(principal_ref(who), GroupJoined(group="staff"))
    admitted = await world.admitted(await world.ask(who=who))
    await world.gather(admitted, source)
    return admitted, source


@dataclass(slots=True)
class EarlyDesk:
    """A desk that reads before the move: what a service would do that does not read at its cut."""

    real: SealDesk
    then: Strike

    async def clock(self) -> datetime:
        """Return the database's clock."""
        return await self.real.clock()

    async def seal(self, sealable: Sealable) -> Judged:
        """Read, let the move happen, then judge what was read before it."""
        early: list[CutSnapshot | None] = []

        def look(_: LockedRun | None, read: CutSnapshot | None, now: datetime) -> Judged:
            early.append(read)
            return "void"

        def judge(run: LockedRun | None, read: CutSnapshot | None, now: datetime) -> Judged:
            return sealable.judge(run, early[0], now)

        await self.real.seal(replace(sealable, judge=look))
        await self.then()
        return await self.real.seal(replace(sealable, judge=judge))


async def propose_early(
    world: World, then: Strike, admitted: RunAdmitted, source: Published
) -> None:
    """Seal with the read before the move."""
    handler = sealing(world, world.parts.authority.position)
    sealer = handler.ending.sealer
    sealer = replace(sealer, desk=EarlyDesk(sealer.desk, then))
    await propose_to(
        replace(handler, ending=replace(handler.ending, sealer=sealer)), admitted, source
    )


async def propose_to(handler: SealRun, admitted: RunAdmitted, *sources: Published) -> None:
    """Propose one quotation of each source."""
    data = RunProposed(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=tuple(source.quote(QUOTE) for source in sources),
    )
    await handler(event_of(data, subject=admitted.run_id), DELIVERY)


@pytest.mark.req("XB-1", "CR-5", "CR-6", "CR-15", "KO-6", "CL-17")
@pytest.mark.parametrize("name", sorted(MOVES))
async def test_a_move_between_cut_and_read_is_never_sealed_over(world: World, name: str) -> None:
    admitted, source = await gathered_run(world)
    ref, data = MOVES[name]
    latch = Latch(real=world.parts.authority.position, then=lambda: world.append(ref, data))

    await propose_with(world, latch, admitted, source)

    assert latch.moves == 0
    assert await outcome_of(world, admitted.run_id) == ("refused", "access_changing")
    assert await world.count("release", admitted.run_id) == 1


@pytest.mark.parametrize("name", sorted(MOVES))
async def test_read_before_the_move_the_same_run_would_be_sealed(world: World, name: str) -> None:
    admitted, source = await gathered_run(world)
    ref, data = MOVES[name]

    await propose_early(world, lambda: world.append(ref, data), admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("sealed", None)


async def is_past(world: World, moment: datetime) -> bool:
    """Tell whether the database's clock has passed a moment."""
    return await world.parts.sealer.desk.clock() > moment


async def longer_than_a_run(world: World) -> timedelta:
    """Return so much more than what a run takes on this machine that one ends long before."""
    began = time.monotonic()
    run = await gathered_run(world, source_id="another")
    await propose_with(world, world.parts.authority.position, *run)
    return timedelta(seconds=max(EXPIRES_S_MIN, MARGIN * (time.monotonic() - began)))


def outlasting(world: World, moment: datetime) -> Strike:
    """Return a strike that waits for the clock, and moves nothing."""

    async def outlast() -> int:
        left_s = (moment - datetime.now(UTC)).total_seconds()
        await eventually(lambda: is_past(world, moment), left_s + WITHIN_S)
        return 0

    return outlast


@pytest.mark.req("CR-5", "CR-15", "KO-6")
@pytest.mark.parametrize("is_early", [False, True])
async def test_a_credential_that_expires_between_cut_and_read_seals_nothing(
    world: World, is_early: bool
) -> None:
    expires_at = datetime.now(UTC) + await longer_than_a_run(world)
    admitted, source = await gathered_run(world, expires_at=expires_at)
    assert not await is_past(world, expires_at)
    outlast = outlasting(world, expires_at)

    if is_early:
        await propose_early(world, outlast, admitted, source)
    else:
        latch = Latch(real=world.parts.authority.position, then=outlast)
        await propose_with(world, latch, admitted, source)

    wanted = ("sealed", None) if is_early else ("refused", "access_changing")
    assert await outcome_of(world, admitted.run_id) == wanted


@dataclass(frozen=True, slots=True)
class TwelfthAmbushed(EvidenceReader):
    """Strikes while the last of several documents is read, when all others have been."""

    last: str = ""
    strike: Strike | None = None
    checked: list[str] = field(default_factory=list[str])

    async def document(self, tenant: str, pin: Pin) -> Document:
        """Return the pinned text and manifest of a source."""
        if pin.key == self.last and self.strike is not None:
            await eventually(lambda: len(self.checked) == SOURCES - 1)
            await self.strike()
        found = await EvidenceReader.document(self, tenant, pin)
        self.checked.append(pin.key)
        return found


@pytest.mark.req("CR-6", "CR-15")
@pytest.mark.parametrize(
    ("lost", "wanted"), [("s0", ("refused", "access_changing")), ("other", ("sealed", None))]
)
async def test_the_first_of_twelve_sources_is_revoked_while_the_twelfth_is_checked(
    world: World, lost: str, wanted: tuple[str, str | None]
) -> None:
    sources = [
        await world.publish_source(f"s{number}", f"{number}. {TEXT}") for number in range(SOURCES)
    ]
    await world.publish_source("other", TEXT)
    bounds = Bounds(max_sources=SOURCES)
    admitted = await world.admitted(await world.ask(bounds=bounds))
    await world.gather(admitted, *sources)
    evidence = TwelfthAmbushed(
        world.blobs, last=sources[-1].ref.id, strike=lambda: world.withdraw(lost)
    )

    await propose_to(replace(world.parts.seal, evidence=evidence), admitted, *sources)

    assert len(evidence.checked) == SOURCES
    assert await outcome_of(world, admitted.run_id) == wanted


@pytest.mark.req("EV-4", "CR-6", "CL-13")
@pytest.mark.parametrize("is_known", [False, True])
async def test_after_a_revocation_of_a_future_version_nothing_is_asked_of_the_source(
    world: World, is_known: bool
) -> None:
    admitted, source = await gathered_run(world)
    revocation = SourceGrantRevoked(grantee="bert")
    if is_known:
        await world.append(source.ref, revocation)
    else:
        await from_the_future(world, source.ref, revocation)

    await propose_with(world, world.parts.authority.position, admitted, source)
    asked = await world.ask(sources=("handbook",))

    sealed = ("sealed", None) if is_known else ("refused", "access_changing")
    assert await outcome_of(world, admitted.run_id) == sealed
    if is_known:
        assert (await world.admitted(asked)).selected
    else:
        assert "source_access" in (await world.ended(asked)).json_text


async def test_moves_that_never_meet_the_read_set_change_nothing(world: World) -> None:
    admitted, source = await gathered_run(world)

    async def elsewhere() -> int:
        return await world.append(principal_ref("dora"), GroupJoined(group="staff"))

    latch = Latch(real=world.parts.authority.position, then=elsewhere)
    async with asyncio.timeout(WITHIN_S):
        await propose_with(world, latch, admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("sealed", None)
