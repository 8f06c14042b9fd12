"""A producer before an intake over memory, and the events that it sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from chancery.events.codec import decode
from chancery.events.commands import AddMember, CreateWorkspace
from chancery.events.envelope import Event
from chancery.events.intake import IntakeAccepted
from chancery.events.topology import INGESTION_INTAKE, INTAKE, intake_subject, outcome_subject
from chancery.ingestion.adapters.outcomes import subject_of
from chancery.ingestion.domain import access
from chancery.ingestion.handlers.execution import Executor
from chancery.ingestion.handlers.intake import Intake
from chancery.kernel.errors import Unavailable
from chancery.runtime.delivery import Delivery, Received
from chancery.testkit.blobs import MemoryBlobs
from tests.unit.ingestion.memory_log import MemoryLog
from tests.unit.ingestion.moments import NOW
from tests.unit.ingestion.test_execution import begun, request


def cloud_event(type_: str, data: object, **attributes: object) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": "e1",
        "source": "/desk",
        "type": type_,
        "data": data,
        **attributes,
    }


def structured(event: Mapping[str, object]) -> Received:
    return Received(json.dumps(event).encode(), {"content-type": "application/cloudevents+json"})


def binary(event: Mapping[str, object]) -> Received:
    headers = {f"ce-{name}": quote(str(event[name])) for name in event if name != "data"}
    return Received(json.dumps(event["data"]).encode(), headers)


@dataclass(slots=True)
class MemoryOutcomes:
    """Keeps what was told; fails the first `failures` times."""

    told: list[Event] = field(default_factory=list[Event])
    failures: int = 0

    async def tell(self, outcome: Event) -> None:
        if self.failures:
            self.failures -= 1
            message = "away"
            raise Unavailable(message)
        if outcome.id not in {each.id for each in self.told}:
            self.told.append(outcome)

    async def accepted(self, tenant: str, principal: str, event_id: str) -> tuple[Event, ...]:
        wanted = outcome_subject(tenant, principal, event_id)
        return tuple(
            each
            for each in self.told
            if isinstance(each.data, IntakeAccepted) and subject_of(each) == wanted
        )


@dataclass(slots=True)
class Edge:
    """An intake over memory, with a publisher called desk in the workspace ws."""

    log: MemoryLog
    executor: Executor
    intake: Intake
    outcomes: MemoryOutcomes
    blobs: MemoryBlobs
    sent: int = 0

    async def send(
        self,
        type_: str,
        data: Mapping[str, Any],
        *,
        event_id: str = "e1",
        sender: tuple[str, str] = ("default", "desk"),
        again: bool = False,
    ) -> Event:
        """Deliver a submission and return the newest outcome."""
        self.sent += 0 if again else 1
        event = cloud_event(type_, data, id=event_id)
        await self.intake.receive(structured(event), self.delivery(type_, sender))
        return self.outcomes.told[-1]

    def delivery(self, type_: str, sender: tuple[str, str] = ("default", "desk")) -> Delivery:
        return Delivery(
            stream=INTAKE,
            sequence=self.sent,
            consumer=INGESTION_INTAKE,
            subject=intake_subject(*sender, type_),
            attempt=1,
            time=NOW,
            pending=0,
            message_id=None,
        )

    def appended(self) -> list[object]:
        """Return what was appended in the name of a sender, in order."""
        events = [decode(stored.payload) for stored in self.log.messages]
        return [each.data for each in events if each.envelope.actor != "admin"]


async def opened() -> Edge:
    """Return an edge over empty memory."""
    log, outcomes, blobs = MemoryLog(), MemoryOutcomes(), MemoryBlobs()
    executor = await begun(log)
    for name in ("ws", "other"):
        workspace = CreateWorkspace(workspace_id=name, title=name)
        await executor.execute(access.CREATE_WORKSPACE, request(workspace, key=f"create {name}"))
    for principal, role in (("desk", "publisher"), ("reading", "reader")):
        member = AddMember.model_validate(
            {"workspace_id": "ws", "principal": principal, "role": role}
        )
        await executor.execute(access.ADD_MEMBER, request(member, key=principal))
    intake = Intake(executor, blobs, outcomes, 1024 * 1024)
    return Edge(log, executor, intake, outcomes, blobs)
