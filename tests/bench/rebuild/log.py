"""The log that is rebuilt from: sources and principals with ten events each, in a mixed order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from chancery.authority.names import AggregateRef, principal_ref, source_ref
from chancery.bus.connection import Connection
from chancery.bus.publish import BATCH_MESSAGES_MAX, Outgoing, publish_atomic
from chancery.events.authority import (
    AuthoritySet,
    CredentialIssued,
    GroupJoined,
    MemberAdded,
    RevisionPublished,
    SourceDeclared,
    SourceGranted,
    SourceGrantRevoked,
    VisibilityChanged,
)
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event, EventData
from chancery.events.topology import AUTHORITY
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.ids import random_id

TENANT: Final = "acme"
WORKSPACE: Final = "legal"
EVENTS_EACH: Final = 10
PRINCIPAL_EVERY: Final = 10
"""One aggregate in so many is a principal."""

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SEED: Final = 7


def order(aggregates: int) -> list[int]:
    """Return whose turn it is, event by event: each aggregate ten times, mixed, always the same."""
    turns = [number for number in range(aggregates) for _ in range(EVENTS_EACH)]
    random.Random(_SEED).shuffle(turns)
    return turns


def events(aggregates: int) -> Iterator[tuple[AggregateRef, EventData]]:
    """Yield the events of all aggregates in the order of the log."""
    done = [0] * aggregates
    for number in order(aggregates):
        yield _event(number, done[number])
        done[number] += 1


async def fill(bus: Connection, aggregates: int) -> int:
    """Append all events in atomic batches of a thousand and return how many there are."""
    batch: list[Outgoing] = []
    count = 0
    for ref, data in events(aggregates):
        batch.append(_outgoing(ref, data))
        count += 1
        if len(batch) == BATCH_MESSAGES_MAX:
            await publish_atomic(bus, AUTHORITY, batch)
            batch = []
    if batch:
        await publish_atomic(bus, AUTHORITY, batch)
    return count


def _event(number: int, turn: int) -> tuple[AggregateRef, EventData]:
    if number % PRINCIPAL_EVERY == 0:
        return principal_ref(f"p{number}"), _of_principal(number, turn)
    return source_ref(WORKSPACE, f"s{number}"), _of_source(number, turn)


def _of_principal(number: int, turn: int) -> EventData:
    if turn == 0:
        return CredentialIssued(credential_id=f"c{number}", proof_sha256=_hash(number, turn))
    if turn < EVENTS_EACH // 2:
        return MemberAdded(workspace_id=f"w{turn}", role="reader")
    return GroupJoined(group=f"g{turn}")


def _of_source(number: int, turn: int) -> EventData:
    match turn:
        case 0:
            return SourceDeclared(
                workspace_id=WORKSPACE,
                source_id=f"s{number}",
                title=f"Handbook, part {number}",
                visibility="workspace",
                declarer="anna",
            )
        case 1 | 5:
            return RevisionPublished(
                revision=1 if turn == 1 else 2,
                content_sha256=_hash(number, turn),
                media_type="text/plain",
                size_bytes=1000 + turn,
            )
        case 2:
            return AuthoritySet(authority="normative", date="2026-01-01")
        case 3:
            return VisibilityChanged(visibility="restricted")
        case 8:
            return SourceGrantRevoked(grantee="r4")
        case _:
            return SourceGranted(grantee=f"r{turn}")


def _outgoing(ref: AggregateRef, data: EventData) -> Outgoing:
    envelope = Envelope(
        id=random_id(),
        source="bench",
        type=data.TYPE,
        subject=ref.id,
        time=_NOW,
        tenant=TENANT,
        actor="anna",
    )
    payload = encode(Event(envelope=envelope, data=data))
    return Outgoing(subject=ref.subject(TENANT), payload=payload, message_id=envelope.id)


def _hash(number: int, turn: int) -> str:
    return sha256_hex(f"{number}.{turn}".encode())
