"""The real system in the bench: what is published, and one ask with its clock."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from chancery.client.demo.scenario import Scenario, draw_scenario
from chancery.client.http import Ask, Chancery
from chancery.client.workspace import Table
from tests.e2e.running import System
from tests.e2e.world import World, make_world

WORKSPACE: Final = "bench"


@dataclass(frozen=True, slots=True)
class Asker:
    """A reader with an open conversation about the demo's documents and dataset."""

    reader: Chancery
    conversation_id: str
    scenario: Scenario

    async def ask(self, question: str) -> tuple[float, str]:
        """Ask, wait until the client hears that it is sealed; return the seconds and the run."""
        begun = time.perf_counter()
        posted = await self.reader.post_message(self.conversation_id, Ask(question=question))
        handle = await self.reader.wait(posted.run_id)
        taken = time.perf_counter() - begun
        answer = await self.reader.answer(handle)
        if answer.status != "sealed":
            message = f"the question was not answered: {answer.status}"
            raise RuntimeError(message)
        return taken, posted.run_id


async def prepare(operator: Chancery) -> Asker:
    """Publish two documents and the dataset, and open a conversation."""
    scenario = draw_scenario()
    world = await make_world(operator, WORKSPACE)
    await _publish(world, scenario)
    conversation_id = await world.reader.workspace(WORKSPACE).open_conversation()
    return Asker(world.reader, conversation_id, scenario)


async def _publish(world: World, scenario: Scenario) -> None:
    for document in (scenario.ownership, scenario.terms):
        await world.document(document.source_id, document.text, title=document.title)
    dataset = scenario.dataset
    await world.desk.declare_dataset(
        dataset.dataset_id, Table(title=dataset.title, measures=(dataset.measure,))
    )
    snapshot = await world.desk.publish_snapshot(dataset.dataset_id, dataset.csv.encode())
    if snapshot.state != "ready":
        message = f"the snapshot is {snapshot.state}"
        raise RuntimeError(message)


def nats_url(system: System) -> str:
    """Return where the system's NATS is, with the credentials of its administrator."""
    address = _text(system.folder / "run" / "release.nats").rpartition("@")[2]
    login = json.loads(_text(system.folder / "nats" / "credentials.json"))
    return f"nats://{login['user']}:{login['password']}@{address}"


def superuser_dsn(system: System) -> str:
    """Return the connection string of the superuser of the system's PostgreSQL."""
    dsn = urlsplit((system.folder / "run" / "release.dsn").read_text("ascii").strip())
    password = _text(system.folder / "postgres" / "superuser.password")
    host = f"postgres:{password}@{dsn.hostname}:{dsn.port}"
    return urlunsplit((dsn.scheme, host, "/postgres", "", ""))


def _text(path: Path) -> str:
    return path.read_text("ascii").strip()
