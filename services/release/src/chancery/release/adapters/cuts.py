"""Publishing cuts: each with a fresh message id, and never sent a second time.

Cuts that are wanted while others are on their way are appended in one atomic batch: each is a
message of its own, and the acknowledgement of the batch is the acknowledgement of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from chancery.authority.names import AggregateRef
from chancery.bus.connection import Connection
from chancery.bus.load import message_at
from chancery.bus.publish import Outgoing, Published, publish_atomic
from chancery.events.authority import AggregateName, CutTaken
from chancery.events.codec import encode
from chancery.events.envelope import Envelope, Event
from chancery.events.topology import AUTHORITY, cut_subject
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id
from chancery.release.adapters.batches import Batches
from chancery.release.domain.drafts import Draft
from chancery.release.domain.sealing import Cut
from chancery.release.domain.stages import SOURCE

CUT_TIMEOUT_S = 2.0
NAMES_REMEMBERED = 2048


@dataclass(slots=True)
class StreamCuts:
    """The cuts on the AUTHORITY stream."""

    bus: Connection
    _publishing: Batches[Outgoing, Published] = field(init=False)

    def __post_init__(self) -> None:
        """Share what is asked at the same time."""
        self._publishing = Batches(self._publish)

    async def publish(self, draft: Draft, *, attempt: int, decided_at: datetime) -> Cut:
        """Publish one acknowledged cut of a draft and return where it is.

        Raises:
            Unavailable: no acknowledgement, or an older message's: this cut counts for nothing.
        """
        payload = encode(_event(draft, attempt, decided_at))
        outgoing = Outgoing(
            subject=cut_subject(draft.run.tenant), payload=payload, message_id=random_id()
        )
        published = await self._publishing.ask(outgoing)
        if published.duplicate:
            message = "the log took the cut for one that it had; a new one is needed"
            raise Unavailable(message, code="cut_duplicate")
        return Cut(published.sequence, attempt, sha256_hex(payload), decided_at)

    async def _publish(self, cuts: Sequence[Outgoing]) -> Sequence[Published]:
        return await publish_atomic(self.bus, AUTHORITY, cuts, timeout_s=CUT_TIMEOUT_S)

    async def payload(self, sequence: int) -> bytes | None:
        """Return the bytes of the cut at a position."""
        stored = await message_at(self.bus, AUTHORITY, sequence)
        return None if stored is None else stored.payload


def _event(draft: Draft, attempt: int, decided_at: datetime) -> Event:
    run = draft.run
    data = CutTaken(
        run_id=run.run_id,
        generation=run.generation,
        attempt=attempt,
        read_set=tuple(map(_name, draft.read_set)),
        core_sha256=draft.core_sha256,
        decided_at=decided_at,
    )
    envelope = Envelope(
        id=random_id(),
        source=SOURCE,
        type=data.TYPE,
        subject=run.run_id,
        time=decided_at,
        tenant=run.tenant,
        correlationid=run.run_id,
        traceparent=run.traceparent,
    )
    return Event(envelope=envelope, data=data)


@lru_cache(maxsize=NAMES_REMEMBERED)
def _name(ref: AggregateRef) -> AggregateName:
    """Check and build a name once: many cuts name the same aggregates."""
    return AggregateName(kind=ref.kind, id=ref.id)
