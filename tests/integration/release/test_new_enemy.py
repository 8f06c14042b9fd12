"""Grant, publish, acknowledged revocation, release at once: nobody is answered who lost access."""

from __future__ import annotations

import pytest

from tests.integration.release.rounds import STEPS, Rounds, Step, measure_control
from tests.integration.release.world import World

pytestmark = pytest.mark.integration

ROUNDS_MIN = 20


@pytest.mark.req("XB-1", "KO-13", "CL-12")
@pytest.mark.parametrize("step", STEPS)
async def test_nobody_is_answered_after_an_acknowledged_revocation(
    world: World, step: Step
) -> None:
    control, rounds = Rounds(world, is_protected=False), Rounds(world)
    needed = max(ROUNDS_MIN, await measure_control(control, step))

    answered = sum([await rounds.play(step) for _ in range(needed)])

    assert answered == 0
