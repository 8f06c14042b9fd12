"""SIGKILL of the real process at every numbered step of the seal."""

from __future__ import annotations

from pathlib import Path

import pytest

from chancery.testkit.postgres import Database
from tests.integration.release.dying import STEPS
from tests.integration.release.lives import assert_once, living

pytestmark = pytest.mark.integration


@pytest.mark.req("KO-7", "EV-6", "EV-10")
async def test_killed_at_any_step_a_run_is_released_once_and_nobody_sees_too_much(
    nats_url: str, database: Database, tmp_path: Path
) -> None:
    async with living(nats_url, database, tmp_path) as lives:
        ended = await lives.play(STEPS)

    assert_once(ended, STEPS)
    # The control: a death before its commit leaves the seal undone, one after it does not.
    lost = [each for each in ended if each.is_target and each.revoked_at is not None]
    early = STEPS[: STEPS.index("7 after the commit")]
    assert {each.status for each in lost if each.step in early} == {"refused"}
    assert {each.status for each in lost if each.step not in early} == {"sealed"}
