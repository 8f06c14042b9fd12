"""Retrieval's own reader over a log that was written before, and its search handler."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from chancery.bus.load import Stored, StreamState
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event
from chancery.events.index import RevisionReady
from chancery.events.requests import Caller, Request, request_type
from chancery.events.search import Search, SearchPin
from chancery.events.topology import index_subject
from chancery.retrieval.adapters.checkpoint import FileCheckpoint
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.domain.entries import Pin
from chancery.retrieval.handlers.following import Following
from chancery.retrieval.handlers.loading import Loading
from chancery.runtime.parking import ParkedMessage
from chancery.store.blobs import Blobs

TENANT: Final = "bench"
_MOMENT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_HASH: Final = "0" * 64


@dataclass(slots=True)
class WrittenLog:
    """An INDEX stream that says of every pin that it is ready, and ends at `until` for now."""

    messages: Sequence[Stored]
    stretch: int
    until: int = 0

    async def state(self) -> StreamState:
        """Return where it ends."""
        return StreamState(1, self.until, _MOMENT, None)

    async def read(self, after: int) -> AsyncGenerator[list[Stored]]:
        """Yield it in stretches of what a busy stream hands over at once."""
        for begin in range(after, self.until, self.stretch):
            yield list(self.messages[begin : min(begin + self.stretch, self.until)])


class NoParking:
    """Parks nothing: the bench has no bad revision."""

    async def park(self, message: ParkedMessage) -> None:
        """Refuse to go on with less than was asked for."""
        detail = f"a revision could not be indexed: {message.reason}"
        raise RuntimeError(detail)


def written_log(pins: Sequence[Pin], *, stretch: int) -> WrittenLog:
    """Return the log of these pins."""
    return WrittenLog([_ready(number, pin) for number, pin in enumerate(pins, start=1)], stretch)


def following(log: WrittenLog, indexes: TenantIndexes, blobs: Blobs, place: Path) -> Following:
    """Return the reader of the service over these parts."""
    return Following(
        log=log,
        index=indexes,
        checkpoint=FileCheckpoint(place / "mark.json"),
        loading=Loading(blobs),
        parking=NoParking(),
    )


def search_request(question: str, pins: Sequence[Pin], limit: int) -> Request[Search]:
    """Return a search as it comes from the gateway, with what release admitted."""
    body = Search(
        query=question,
        limit=limit,
        index_sequence=1,
        pins=tuple(
            SearchPin(
                key=pin.ref.key,
                revision=pin.ref.revision,
                extraction_sha256=pin.extraction_sha256,
                manifest_sha256=pin.manifest_sha256,
            )
            for pin in pins
        ),
    )
    caller = Caller(tenant=TENANT, principal="ada", credential_id="c", proof=_HASH)
    return request_type(Search)(
        caller=caller, route="r", idempotency_key="k", request_sha256=_HASH, body=body
    )


def _ready(number: int, pin: Pin) -> Stored:
    data = RevisionReady(
        workspace_id="bench",
        kind=pin.ref.kind,
        key=pin.ref.key,
        revision=pin.ref.revision,
        content_sha256=pin.extraction_sha256,
        authority_sequence=number,
        extraction_sha256=pin.extraction_sha256,
        manifest_sha256=pin.manifest_sha256,
    )
    envelope = Envelope(
        id=f"ready-{number}", source="bench", type=data.TYPE, subject=pin.ref.key, time=_MOMENT,
        tenant=TENANT,
    )  # fmt: skip
    subject = index_subject(TENANT, pin.ref.kind, pin.ref.key)
    event = Event(envelope=envelope, data=data)
    return Stored(number, subject, encode(event), _MOMENT, envelope.id)
