"""The shared fence on three servers: many readers share one, and none of them sees too much."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chancery.authority.names import source_ref
from chancery.bus.load import last_sequence
from chancery.events.authority import SourceGranted, SourceGrantRevoked
from chancery.events.queries import OfRun
from chancery.events.topology import AUTHORITY
from chancery.kernel.errors import Unavailable
from chancery.release.handlers.barrier import Barrier
from chancery.testkit.postgres import Database
from tests.chaos.cluster import Cluster, running_cluster
from tests.chaos.test_new_enemy import CLUSTER_REPLICAS, kill_leader
from tests.integration.release.rounds import READER, AmbushedBarrier, Rounds, paused_projection
from tests.integration.release.stage import playing
from tests.integration.release.test_twice import sealed_for_reader
from tests.integration.release.world import WORKSPACE, World, request_of

ROUNDS = 60
CROWD = 20


async def read(world: World, run_id: str, barrier: Barrier | None = None) -> str:
    """Return the status that the reader is told, or that it is unavailable."""
    disclosures = world.parts.disclosures
    if barrier is not None:
        gate = replace(disclosures.discloser.gate, barrier=barrier)
        disclosures = replace(disclosures, discloser=replace(disclosures.discloser, gate=gate))
    request = request_of("answer", OfRun(run_id=run_id), who=READER)
    try:
        return (await disclosures.answer(request)).status
    except Unavailable:
        return "unavailable"


async def crowd(world: World, run_id: str) -> list[str]:
    """Read many times at once."""
    return await asyncio.gather(*(read(world, run_id) for _ in range(CROWD)))


async def rounds_of(cluster: Cluster, world: World, run_id: str) -> tuple[set[str], set[str]]:
    """Grant, read, revoke, read; return what was told with access and without."""
    rounds = Rounds(world)
    ref = source_ref(WORKSPACE, "dossier")
    before: set[str] = set()
    after: set[str] = set()
    for number in range(ROUNDS):
        if number == ROUNDS // 2:
            await kill_leader(cluster, world.bus)
        async with asyncio.TaskGroup() as tasks:
            early = tasks.create_task(crowd(world, run_id))
            await rounds.append(ref, SourceGrantRevoked(grantee=READER))
            after |= set(await crowd(world, run_id))
        await rounds.append(ref, SourceGranted(grantee=READER))
        before |= set(early.result()) | set(await crowd(world, run_id))
    return before, after


async def control(world: World, run_id: str) -> str:
    """Read behind a barrier that asks nobody, while the projection stands still."""
    real = world.parts.admit.gate.barrier
    lowered = AmbushedBarrier(real.read_end, real.position, is_lowered=True)
    ref = source_ref(WORKSPACE, "dossier")
    async with paused_projection(world.database):
        await world.append(ref, SourceGrantRevoked(grantee=READER))
        return await read(world, run_id, lowered)


@pytest.mark.chaos
@pytest.mark.req("XB-1", "CL-12")
async def test_readers_who_share_a_fence_on_three_servers_see_no_more_than_they_may(
    database: Database, tmp_path: Path
) -> None:
    with running_cluster(tmp_path / "cluster") as cluster:
        async with playing(
            cluster.url, database, tmp_path / "blobs", replicas=CLUSTER_REPLICAS
        ) as world:
            run_id, _ = await sealed_for_reader(world)
            first = (await last_sequence(world.bus, AUTHORITY)).last
            before, after = await rounds_of(cluster, world, run_id)
            fences = (await last_sequence(world.bus, AUTHORITY)).last - first - 2 * ROUNDS
            lowered = await control(world, run_id)

    assert "sealed" in before
    assert "withheld" in after
    assert "sealed" not in after
    # They shared: far fewer fences than readers.
    assert 0 < fences < ROUNDS * 3 * CROWD / 2
    assert lowered == "sealed"
