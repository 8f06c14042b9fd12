"""The new enemy at length: on one server, and on three whose leader is killed in the middle."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.bus.connection import Connection
from chancery.events.topology import AUTHORITY
from chancery.testkit.postgres import Database
from chancery.testkit.waiting import eventually
from tests.chaos.cluster import Cluster, running_cluster
from tests.integration.release.rounds import STEPS, Rounds, Step, measure_control
from tests.integration.release.stage import playing

ROUNDS_MIN = 1_000
CLUSTER_REPLICAS = 3


@pytest.mark.chaos
@pytest.mark.req("XB-1", "KO-13", "CL-12")
@pytest.mark.parametrize("step", STEPS)
async def test_a_thousand_rounds_on_one_server_answer_nobody_who_lost_access(
    nats_url: str, database: Database, tmp_path: Path, step: Step
) -> None:
    async with playing(nats_url, database, tmp_path) as world:
        needed = max(ROUNDS_MIN, await measure_control(Rounds(world, is_protected=False), step))
        rounds = Rounds(world)

        answered = sum([await rounds.play(step) for _ in range(needed)])

    assert answered == 0


@pytest.mark.chaos
@pytest.mark.req("XB-1", "KO-13", "CL-12")
@pytest.mark.parametrize("step", STEPS)
async def test_a_thousand_rounds_on_three_servers_survive_their_leader(
    database: Database, tmp_path: Path, step: Step
) -> None:
    with running_cluster(tmp_path / "cluster") as cluster:
        async with playing(
            cluster.url, database, tmp_path / "blobs", replicas=CLUSTER_REPLICAS
        ) as world:
            control, rounds = Rounds(world, is_protected=False), Rounds(world)
            needed = max(ROUNDS_MIN, await measure_control(control, step))
            before = sum([await rounds.play_undisturbed(step) for _ in range(needed // 2)])
            await kill_leader(cluster, world.bus)
            after = sum([await rounds.play_undisturbed(step) for _ in range(needed // 2)])

    assert before + after == 0


async def kill_leader(cluster: Cluster, connection: Connection) -> None:
    """Kill the leader of the authority log, wait for another one, and let the first come back."""
    led = await cluster.leader_of(connection, AUTHORITY)
    led.kill()

    async def is_led_again() -> bool:
        try:
            return await cluster.leader_of(connection, AUTHORITY) is not led
        except Exception:  # noqa: BLE001 - while there is none, every answer is an error
            return False

    await eventually(is_led_again, 30)
    led.begin()
