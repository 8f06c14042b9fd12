"""A service is killed while questions are asked: the short form of the chaos tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.killing import FAST, Asked, ask_while_killing, assert_each_ended_once
from tests.e2e.running import running
from tests.e2e.world import make_world


@pytest.mark.req("EV-6")
async def test_killing_execution_and_release_loses_and_doubles_no_run(tmp_path: Path) -> None:
    asked: list[list[Asked]] = []
    with running(tmp_path / "data", FAST) as system:
        async with system.operator() as operator:
            for service in ("execution", "release"):
                world = await make_world(operator, f"killing-{service}")
                asked.append(await ask_while_killing(system, world, service, count=10))

    for each in asked:
        assert_each_ended_once(each)
