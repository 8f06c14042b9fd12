"""What the steps of a demo share: the scenario, who takes part, and the answer to prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chancery.client.demo.scenario import Scenario
from chancery.client.demo.telling import Narrator
from chancery.client.handles import AnswerHandle
from chancery.client.http import Chancery
from chancery.kernel.canonical import Json


@dataclass(frozen=True, slots=True)
class Cast:
    """The four people of a scenario, each a client with a credential of its own."""

    publisher: Chancery
    reader: Chancery
    colleague: Chancery
    outsider: Chancery


@dataclass(frozen=True, slots=True)
class Kept:
    """The mixed answer's handle and the bundle saved from it."""

    handle: AnswerHandle
    bundle: Path


@dataclass(slots=True)
class Stage:
    """One demo on its way; `kept` is there once the mixed answer is, `folder` takes its bundle."""

    scenario: Scenario
    narrator: Narrator
    operator: Chancery
    folder: Path
    people: Cast | None = None
    mixed: Kept | None = None

    @property
    def cast(self) -> Cast:
        """Return who takes part; the first step sets it."""
        assert self.people is not None
        return self.people

    @property
    def kept(self) -> Kept:
        """Return the mixed answer; its step sets it."""
        assert self.mixed is not None
        return self.mixed


async def set_up(stage: Stage) -> Mapping[str, Json]:
    """Create the workspace, its policy, its members, and a credential for everybody."""
    scenario, operator, narrator = stage.scenario, stage.operator, stage.narrator
    workspace = await operator.create_workspace(scenario.workspace_id, scenario.workspace_title)
    narrator.tell(f"workspace {scenario.workspace_id} is open")
    await workspace.revise_policy("demo-1", language=scenario.language)
    roles = {
        scenario.publisher: "publisher",
        scenario.reader: "reader",
        scenario.colleague: "reader",
        scenario.outsider: None,
    }
    clients: dict[str, Chancery] = {}
    for principal, role in roles.items():
        credential = await operator.issue_credential(principal)
        clients[principal] = operator.acting_with(credential.token)
        match role:
            case "publisher":
                await workspace.add_member(principal, "publisher")
            case "reader":
                await workspace.add_member(principal, "reader")
            case _:
                pass
        narrator.tell(f"{principal} has a credential and is {role or 'no member'}")
    stage.people = Cast(
        publisher=clients[scenario.publisher],
        reader=clients[scenario.reader],
        colleague=clients[scenario.colleague],
        outsider=clients[scenario.outsider],
    )
    return {"workspace_id": scenario.workspace_id}
