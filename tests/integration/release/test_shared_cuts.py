"""Cuts that share a batch: each is its own run's, above all that was acknowledged before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

import pytest

from chancery.authority.names import tenant_ref
from chancery.bus.connection import Connection
from chancery.bus.load import message_at
from chancery.bus.publish import Outgoing, Published, publish_atomic
from chancery.events.authority import CutTaken, TenantSuspended
from chancery.events.codec import decode
from chancery.events.topology import AUTHORITY
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.release.adapters import cuts
from chancery.release.adapters.cuts import StreamCuts
from chancery.release.domain.sealing import Cut
from tests.integration.release.world import TENANT, World
from tests.unit.release.test_sealer import draft

pytestmark = pytest.mark.integration

Publish = Callable[..., Coroutine[object, object, tuple[Published, ...]]]


@dataclass(slots=True)
class Batches:
    """The real publishing; remembers how many cuts each batch had, and can hold or lose one."""

    sizes: list[int] = field(default_factory=list[int])
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)
    loses: bool = False

    async def publish(
        self, bus: Connection, stream: str, messages: Sequence[Outgoing], *, timeout_s: float
    ) -> tuple[Published, ...]:
        """Publish a batch."""
        self.sizes.append(len(messages))
        self.begun.set()
        await self.may_go_on.wait()
        published = await publish_atomic(bus, stream, messages, timeout_s=timeout_s)
        if self.loses:
            message = "no acknowledgement came"
            raise Unavailable(message)
        return published


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Batches:
    """Return what sees the batches of the test."""
    found = Batches()
    monkeypatch.setattr(cuts, "publish_atomic", found.publish)
    return found


async def cut(log: StreamCuts, attempt: int) -> Cut:
    return await log.publish(draft(), attempt=attempt, decided_at=SystemClock().now())


async def attempt_at(world: World, sequence: int) -> int:
    """Return which attempt the cut at a position says that it is."""
    stored = await message_at(world.bus, AUTHORITY, sequence)
    assert stored is not None
    data = decode(stored.payload).data
    assert isinstance(data, CutTaken)
    return data.attempt


@pytest.mark.req("XB-1", "KO-13")
async def test_cuts_that_share_a_batch_are_messages_of_their_own(
    world: World, batches: Batches
) -> None:
    batches.may_go_on.set()
    log = StreamCuts(world.bus)

    found = await asyncio.gather(*(cut(log, attempt) for attempt in (1, 2, 3)))

    assert batches.sizes == [3]
    assert len({each.sequence for each in found}) == 3
    assert [await attempt_at(world, each.sequence) for each in found] == [1, 2, 3]


@pytest.mark.req("XB-1", "KO-13")
async def test_no_cut_joins_a_batch_that_has_begun(world: World, batches: Batches) -> None:
    log = StreamCuts(world.bus)
    async with asyncio.TaskGroup() as group:
        early = group.create_task(cut(log, 1))
        await batches.begun.wait()
        acknowledged = await world.append(tenant_ref(TENANT), TenantSuspended(reason="audit"))
        late = [group.create_task(cut(log, attempt)) for attempt in (2, 3)]
        batches.may_go_on.set()

    assert batches.sizes == [1, 2]
    assert all(each.result().sequence > acknowledged for each in late)
    assert early.result().sequence < min(each.result().sequence for each in late)


@pytest.mark.req("XB-1", "EV-6", "KO-13")
async def test_a_batch_without_acknowledgement_counts_for_none_of_its_cuts(
    world: World, batches: Batches
) -> None:
    batches.may_go_on.set()
    batches.loses = True
    log = StreamCuts(world.bus)

    found = await asyncio.gather(*(cut(log, each) for each in (1, 2)), return_exceptions=True)
    batches.loses = False
    again = await cut(log, 3)

    assert [type(each) for each in found] == [Unavailable, Unavailable]
    assert batches.sizes == [2, 1]
    assert await attempt_at(world, again.sequence) == 3
