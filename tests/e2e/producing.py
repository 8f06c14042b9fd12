"""What a producer does with its login on the running system: submit, and read what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from nats.aio.client import Client

from chancery.bus.accounts import SERVICE_API_PREFIX
from chancery.embedded.producers import Invitation, add_producer
from chancery.events.topology import (
    OUTCOMES,
    intake_subject,
    outcome_subject,
)
from chancery.kernel.ids import random_id
from chancery.testkit.waiting import eventually
from tests.e2e.running import System

TENANT: Final = "default"


async def invited(system: System, principal: str) -> Invitation:
    """Return a login of a principal as a producer."""
    folder = system.folder
    return await add_producer(
        folder / "nats", run=folder / "run", tenant=TENANT, principal=principal
    )


async def submitted(
    client: Client, principal: str, kind: str, data: Mapping[str, object], *, binary: bool = False
) -> dict[str, Any]:
    """Submit in structured or binary mode and return what became of it."""
    event_id = random_id()
    attributes = {"specversion": "1.0", "id": event_id, "source": "/x", "type": kind}
    subject = intake_subject(TENANT, principal, kind)
    if binary:
        headers = {f"ce-{name}": value for name, value in attributes.items()}
        await client.request(subject, json.dumps(data).encode(), timeout=20, headers=headers)
    else:
        event = {**attributes, "data": data}
        await client.request(subject, json.dumps(event).encode(), timeout=20)
    return await _told(client, principal, event_id)


async def _told(client: Client, principal: str, event_id: str) -> dict[str, Any]:
    place = outcome_subject(TENANT, principal, event_id)
    asked = f"{SERVICE_API_PREFIX}.DIRECT.GET.{OUTCOMES}.{place}"

    async def found() -> dict[str, Any] | None:
        reply = await client.request(asked, b"", timeout=20)
        return json.loads(reply.data) if reply.data else None

    told = await eventually(found, within_s=90)
    assert told is not None
    return told
