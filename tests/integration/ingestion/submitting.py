"""What a producer does with its login: submit, and ask what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client

from chancery.bus.accounts import SERVICE_API_PREFIX
from chancery.bus.connection import connect
from chancery.bus.load import read_subject
from chancery.events.topology import (
    OUTCOMES,
    STREAMS,
    intake_subject,
    outcome_subject,
)
from chancery.testkit.nats import NatsAccess
from chancery.testkit.waiting import eventually

TENANT = "default"
ASKED = f"{SERVICE_API_PREFIX}.DIRECT.GET.{OUTCOMES}"
"""Before a subject: the request for the newest outcome there."""


def event_of(event_id: str, type_: str, data: Mapping[str, object]) -> dict[str, Any]:
    return {"specversion": "1.0", "id": event_id, "source": "/desk", "type": type_, "data": data}


async def submit(client: Client, event: Mapping[str, Any], principal: str = "desk") -> int:
    """Publish with an acknowledgement and return the sequence."""
    subject = intake_subject(TENANT, principal, event["type"])
    reply = await client.request(subject, json.dumps(event).encode(), timeout=20)
    return json.loads(reply.data)["seq"]


async def outcome(
    client: Client, event_id: str, principal: str = "desk", *, of: int = 0
) -> dict[str, Any]:
    """Ask for the newest outcome until it is there, and that of the submission at `of` or later."""
    asked = f"{ASKED}.{outcome_subject(TENANT, principal, event_id)}"

    async def found() -> dict[str, Any] | None:
        reply = await client.request(asked, b"", timeout=20)
        newest = json.loads(reply.data) if reply.data else None
        return newest if newest and newest["data"]["intake_sequence"] >= of else None

    told = await eventually(found, within_s=60)
    assert told is not None
    return told


async def who_holds(access: NatsAccess, text: bytes) -> set[str]:
    """Return the streams that hold the text anywhere."""
    async with connect(access.url, name="tests") as admin:
        return {
            stream.name
            for stream in STREAMS
            for payload in [each.payload async for each in read_subject(admin, stream.name, ">")]
            if text in payload
        }
