"""SIGKILL at every numbered step of the seal, twenty times, each a moment earlier or later."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.testkit.postgres import Database
from tests.integration.release.dying import STEPS
from tests.integration.release.lives import assert_once, living

SEEDS = 20


@pytest.mark.chaos
@pytest.mark.req("KO-7", "EV-6", "EV-10")
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
async def test_killed_around_any_step_a_run_is_released_once_and_nobody_sees_too_much(
    nats_url: str, database: Database, tmp_path: Path, seed: int
) -> None:
    async with living(nats_url, database, tmp_path, seed=seed) as lives:
        ended = await lives.play(STEPS)

    assert_once(ended, STEPS)
