"""The cut: what was acknowledged before it counts, what moved after it is read again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from chancery.authority.names import policy_ref, principal_ref, source_ref, tenant_ref
from chancery.bus.load import message_at
from chancery.events.authority import (
    CredentialRevoked,
    CutTaken,
    MemberRemoved,
    PolicyRevised,
    SourceGranted,
    TenantSuspended,
)
from chancery.events.codec import decode
from chancery.events.run import RunAdmitted, RunProposed
from chancery.events.topology import AUTHORITY
from chancery.evidence.receipt import Receipt
from chancery.kernel.errors import Unavailable
from chancery.release.domain.marks import Mark
from chancery.release.domain.releases import Release
from chancery.release.handlers.proposed import SealRun
from chancery.release.ports.position import Position
from chancery.runtime.delivery import Delivery
from tests.integration.release.published import Published
from tests.integration.release.world import (
    TENANT,
    WORKSPACE,
    World,
    event_of,
)

pytestmark = pytest.mark.integration

TEXT = "Service reviews are owned by Mara Lindt. The invoices are kept in euro.\n"
QUOTE = "Service reviews are owned by Mara Lindt."
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

Move = Callable[[World], Awaitable[int]]


@dataclass(slots=True)
class Latch(Position):
    """Lets something happen between the passing of a cut and the read."""

    real: Position | None = None
    then: Callable[[], Awaitable[int]] | None = None
    moves: int = 1

    async def wait(self, sequence: int, *, timeout_s: float) -> None:
        """Wait as the real one does; then move, and wait until the move is projected."""
        assert self.real is not None
        await self.real.wait(sequence, timeout_s=timeout_s)
        if self.then is not None and self.moves > 0:
            self.moves -= 1
            await self.real.wait(await self.then(), timeout_s=timeout_s)


async def gathered_run(world: World) -> tuple[RunAdmitted, Published]:
    source = await world.publish_source("handbook", TEXT)
    admitted = await world.admitted(await world.ask())
    await world.gather(admitted, source)
    return admitted, source


def sealing(world: World, position: Position) -> SealRun:
    handler = world.parts.seal
    ending = handler.ending
    sealer = replace(ending.sealer, position=position)
    return replace(handler, ending=replace(ending, sealer=sealer))


async def propose_with(
    world: World, position: Position, admitted: RunAdmitted, source: Published
) -> None:
    data = RunProposed(
        run_id=admitted.run_id,
        generation=admitted.generation,
        lease=admitted.lease,
        selector="extractive",
        selections=(source.quote(QUOTE),),
    )
    event = event_of(data, subject=admitted.run_id)
    await sealing(world, position)(event, DELIVERY)


async def release_of(world: World, run_id: str) -> Release:
    release = await world.parts.disclosures.discloser.releases.read(TENANT, run_id, 1)
    assert release is not None
    return release


async def outcome_of(world: World, run_id: str) -> tuple[str, str | None]:
    release = await release_of(world, run_id)
    return ("sealed" if release.outcome is None else "refused", release.outcome)


async def receipt_of(world: World, run_id: str) -> Receipt:
    return (await release_of(world, run_id)).parsed_receipt()


async def cut_of(world: World, run_id: str) -> CutTaken:
    release = await release_of(world, run_id)
    stored = await message_at(world.bus, AUTHORITY, release.cut_sequence)
    assert stored is not None
    data = decode(stored.payload).data
    assert isinstance(data, CutTaken)
    return data


async def digest_by_replay(world: World, last: int) -> str:
    mark = Mark()
    for sequence in range(1, last + 1):
        stored = await message_at(world.bus, AUTHORITY, sequence)
        assert stored is not None
        mark = mark.cover(sequence, stored.payload)
    return mark.digest.hex()


MOVES: dict[str, Move] = {
    "withdrawn": lambda world: world.withdraw("handbook"),
    "membership": lambda world: world.append(
        principal_ref("anna"), MemberRemoved(workspace_id=WORKSPACE)
    ),
    "credential": lambda world: world.append(
        principal_ref("anna"), CredentialRevoked(credential_id="c-anna")
    ),
    "tenant": lambda world: world.append(tenant_ref(TENANT), TenantSuspended(reason="audit")),
    "policy": lambda world: world.append(
        policy_ref(WORKSPACE),
        PolicyRevised(policy_revision="2", modes=("auto", "rag"), language="en"),
    ),
}


@pytest.mark.req("CR-15", "KO-6")
@pytest.mark.parametrize("name", sorted(MOVES))
async def test_what_was_acknowledged_before_the_cut_keeps_the_answer_back(
    world: World, name: str
) -> None:
    admitted, source = await gathered_run(world)
    await MOVES[name](world)

    await propose_with(world, world.parts.authority.position, admitted, source)

    outcome = await outcome_of(world, admitted.run_id)
    assert outcome == ("refused", "access_changing")
    assert await world.count("release", admitted.run_id) == 1


@pytest.mark.req("CR-15")
async def test_without_a_move_the_same_run_is_sealed(world: World) -> None:
    admitted, source = await gathered_run(world)

    await propose_with(world, world.parts.authority.position, admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("sealed", None)


@pytest.mark.req("CR-15")
@pytest.mark.parametrize("name", sorted(MOVES))
async def test_a_move_between_cut_and_read_is_not_overlooked(world: World, name: str) -> None:
    admitted, source = await gathered_run(world)
    latch = Latch(real=world.parts.authority.position, then=lambda: MOVES[name](world))

    await propose_with(world, latch, admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("refused", "access_changing")


async def test_a_harmless_move_between_cut_and_read_takes_a_second_cut(world: World) -> None:
    admitted, source = await gathered_run(world)

    async def grant() -> int:
        return await world.append(source_ref(WORKSPACE, "handbook"), SourceGranted(grantee="bert"))

    latch = Latch(real=world.parts.authority.position, then=grant)

    await propose_with(world, latch, admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("sealed", None)
    cut = await cut_of(world, admitted.run_id)
    assert cut.attempt == 2


async def test_access_that_never_rests_ends_after_five_cuts(world: World) -> None:
    admitted, source = await gathered_run(world)
    grants = iter(range(100))

    async def grant() -> int:
        grantee = f"p{next(grants)}"
        return await world.append(source_ref(WORKSPACE, "handbook"), SourceGranted(grantee=grantee))

    latch = Latch(real=world.parts.authority.position, then=grant, moves=100)

    await propose_with(world, latch, admitted, source)

    assert await outcome_of(world, admitted.run_id) == ("refused", "access_changing")
    assert next(grants) == 5


@pytest.mark.req("KO-13")
async def test_a_second_seal_of_the_same_generation_adds_nothing(world: World) -> None:
    admitted, source = await gathered_run(world)
    position = world.parts.authority.position
    await propose_with(world, position, admitted, source)
    first = await world.ended(admitted.run_id)

    await propose_with(world, position, admitted, source)

    assert await world.ended(admitted.run_id) == first
    assert await world.count("release", admitted.run_id) == 1


async def test_a_credential_that_expires_soon_bounds_the_seal(world: World) -> None:
    source = await world.publish_source("handbook", TEXT)
    expires = datetime.now(UTC) + timedelta(seconds=30)
    await world.join("carl", expires_at=expires)
    admitted = await world.admitted(await world.ask(who="carl"))
    await world.gather(admitted, source)

    await propose_with(world, world.parts.authority.position, admitted, source)

    receipt = await receipt_of(world, admitted.run_id)
    assert receipt.cut is not None
    assert receipt.cut.effective_expiry == expires


async def test_a_projection_that_does_not_pass_the_cut_seals_nothing(world: World) -> None:
    admitted, source = await gathered_run(world)

    @dataclass(slots=True)
    class Stuck(Position):
        async def wait(self, sequence: int, *, timeout_s: float) -> None:
            await Position.wait(Position(), sequence, timeout_s=0.01)

    with pytest.raises(Unavailable):
        await propose_with(world, Stuck(), admitted, source)

    assert await world.count("release", admitted.run_id) == 0
    await propose_with(world, world.parts.authority.position, admitted, source)
    assert await outcome_of(world, admitted.run_id) == ("sealed", None)


@pytest.mark.req("KO-12", "EV-5")
async def test_the_receipt_holds_cut_read_set_and_the_digest_of_the_log(world: World) -> None:
    admitted, source = await gathered_run(world)

    await propose_with(world, world.parts.authority.position, admitted, source)

    receipt = await receipt_of(world, admitted.run_id)
    cut = await cut_of(world, admitted.run_id)
    assert receipt.cut is not None
    replayed = await digest_by_replay(world, receipt.cut.sequence)
    assert receipt.cut.authority_digest == replayed
    names = [(entry.kind, entry.id) for entry in receipt.read_set]
    assert names == [(name.kind, name.id) for name in cut.read_set]
    assert {kind for kind, _ in names} == {"tenant", "principal", "workspace", "policy", "source"}
