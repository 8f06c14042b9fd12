"""Parked messages as an operator sees them: where each is, why, its envelope, never its content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from chancery.events.parked import FindParked, ParkedEntry, ParkedRetried, ParkedState
from chancery.kernel.canonical import Json, parse_json, sha256_hex
from chancery.kernel.errors import Corrupt

_CONTEXT: Final = (
    "id",
    "type",
    "source",
    "subject",
    "time",
    "tenant",
    "actor",
    "causationid",
    "correlationid",
    "traceparent",
    "requestsha256",
)
_DATA: Final = (
    "run_id",
    "generation",
    "lease",
    "workspace_id",
    "conversation_id",
    "message",
    "credential_id",
    "source_id",
    "dataset_id",
    "item_id",
    "kind",
    "key",
    "revision",
    "snapshot",
    "authority_sequence",
    "content_sha256",
    "extraction_sha256",
    "manifest_sha256",
    "question_sha256",
    "scope_sha256",
)
"""Fields of the data that hold ids, numbers and hashes; no other is told."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/+-]{1,200}")
_DATA_PREFIX: Final = "data."


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedRow:
    """One message that is set aside, with its bytes."""

    consumer: str
    stream: str
    sequence: int
    subject: str
    payload: bytes
    reason: str
    state: ParkedState
    attempts: int = 0
    tenant: str | None = None
    message_id: str | None = None
    parked_at: datetime | None = None
    resolved_at: datetime | None = None
    note: str | None = None

    @property
    def is_resolved(self) -> bool:
        """Tell whether nobody needs to do anything about it any more."""
        return self.resolved_at is not None


class Keeper(Protocol):
    """Keeps messages back in another table than `parked`; a projection's quarantine is one."""

    @property
    def consumer(self) -> str:
        """Return whose messages."""
        ...

    async def find(self, wish: FindParked) -> list[ParkedRow]:
        """Return the first `limit + 1` rows behind `after`, in the order of their sequences."""
        ...

    async def count(self) -> int:
        """Return how many are kept back."""
        ...

    async def retry(self, row: ParkedRow) -> ParkedRetried:
        """Try again, and tell whether the message is still kept back."""
        ...


def parked_id(consumer: str, sequence: int) -> str:
    """Return the name of a parked message; it may be a subject token."""
    return f"{consumer}-{sequence}"


def entry_of(row: ParkedRow) -> ParkedEntry:
    """Return what may be told about a row."""
    attributes = redacted(row.payload)
    return ParkedEntry(
        consumer=row.consumer,
        sequence=row.sequence,
        stream=row.stream,
        subject=row.subject,
        state=row.state,
        reason=row.reason,
        attempts=row.attempts,
        tenant=row.tenant,
        message_id=row.message_id,
        event_id=attributes.get("id"),
        event_type=attributes.get("type"),
        parked_at=row.parked_at,
        resolved_at=row.resolved_at,
        note=row.note,
        size_bytes=len(row.payload),
        payload_sha256=sha256_hex(row.payload),
        attributes=attributes,
    )


def redacted(payload: bytes) -> dict[str, str]:
    """Return the ids, numbers and hashes of a message, whatever it is; never its content.

    Fields of the data stand under `data.<name>`; one that does not look like an id is left out.
    """
    fields = _mapping(payload)
    data = fields.get("data")
    told = _plain(fields, _CONTEXT, "")
    return told | (_plain(data, _DATA, _DATA_PREFIX) if isinstance(data, Mapping) else {})


def _mapping(payload: bytes) -> Mapping[str, Json]:
    try:
        parsed = parse_json(payload)
    except Corrupt:
        return {}
    return parsed if isinstance(parsed, Mapping) else {}


def _plain(fields: Mapping[str, Json], names: tuple[str, ...], prefix: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for name in names:
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            continue
        if _PLAIN.fullmatch(str(value)):
            told[f"{prefix}{name}"] = str(value)
    return told
