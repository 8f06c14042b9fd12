"""Plays a scenario over the public HTTP surface and checks what comes out, step by step."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from chancery.client.demo import asking, closing, publishing
from chancery.client.demo.scenario import Scenario
from chancery.client.demo.stage import Stage, set_up
from chancery.client.demo.telling import Narrator, Step
from chancery.client.http import Chancery
from chancery.kernel.canonical import Json
from chancery.kernel.errors import ChanceryError


@dataclass(slots=True)
class Played:
    """What a demo came to; `failed` names the first expectation that was not met."""

    steps: list[Step] = field(default_factory=list[Step])
    failed: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the outcome as a JSON object."""
        return {
            "ok": self.failed is None,
            "failed": self.failed,
            "steps": [
                {"name": step.name, "seconds": round(step.seconds, 3), **step.result}
                for step in self.steps
            ],
        }


_Scene = Callable[[Stage], Awaitable[Mapping[str, Json]]]

SCENES: Final[Mapping[str, tuple[str, _Scene]]] = {
    "workspace": ("A workspace, its people and their credentials", set_up),
    "documents": ("Two documents, one of them restricted", publishing.documents),
    "dataset": ("A dataset with a declared measure", publishing.dataset),
    "ownership": ("A question that one document answers", asking.ownership),
    "mixed": ("A question that takes two documents and a calculation", asking.mixed),
    "no_evidence": ("A question without evidence", asking.no_evidence),
    "no_access": ("The same question from people without access", closing.no_access),
    "revoked": ("The reader's grant is revoked", closing.revoked),
    "verified": ("The saved bundle is verified, without a server", closing.verified),
}
"""The steps by name, with what people are told that they do."""


async def play(scenario: Scenario, operator: Chancery, narrator: Narrator, folder: Path) -> Played:
    """Play every step; the bundle of the mixed answer is saved into `folder`."""
    played = Played()
    stage = Stage(scenario, narrator, operator, folder)
    for name, (title, scene) in SCENES.items():
        started = time.monotonic()
        narrator.begin(title)
        try:
            result = await scene(stage)
        except ChanceryError as error:
            played.failed = f"{name}: {error.detail}"
            break
        step = Step(name, time.monotonic() - started, result)
        played.steps.append(step)
        narrator.end(step)
    return played
