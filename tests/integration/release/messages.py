"""The messages that the world sends, as gateway and stages would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeVar

from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.requests import Caller, Message, Request
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id

TENANT = "acme"
PROOF = "ab" * 32

_M = TypeVar("_M", bound=Message)


def request_of(subject: str, body: _M, *, who: str, key: str = "") -> Request[_M]:
    """Return the request that the gateway would send."""
    return Request(
        caller=caller(who),
        route=f"POST {subject}",
        idempotency_key=key or random_id(),
        request_sha256=sha256_hex(body.model_dump_json().encode()),
        body=body,
    )


def caller(who: str) -> Caller:
    """Return the caller that the gateway would forward."""
    return Caller(tenant=TENANT, principal=who, credential_id=f"c-{who}", proof=PROOF)


def event_of(data: EventData, *, subject: str, actor: str | None = None) -> Event:
    """Return an event with a fresh id."""
    envelope = Envelope(
        id=random_id(),
        source="test",
        type=data.TYPE,
        subject=subject,
        time=datetime.now(UTC),
        tenant=TENANT,
        actor=actor,
    )
    return Event(envelope=envelope, data=data)
