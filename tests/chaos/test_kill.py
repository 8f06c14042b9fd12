"""`kill -9` of any one service during 50 consecutive questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.store.roles import SERVICES
from tests.e2e.killing import FAST, ask_while_killing, assert_each_ended_once
from tests.e2e.running import running
from tests.e2e.world import make_world

QUESTIONS = 50


@pytest.mark.chaos
@pytest.mark.req("EV-6", "EV-10", "KO-7")
@pytest.mark.parametrize("service", SERVICES)
async def test_a_killed_service_comes_back_and_every_run_ends_once(
    tmp_path: Path, service: str
) -> None:
    with running(tmp_path / "data", FAST) as system:
        async with system.operator() as operator:
            world = await make_world(operator, "killing")

            asked = await ask_while_killing(system, world, service, count=QUESTIONS)

    assert_each_ended_once(asked)
