"""What an operator does with parked messages: look, hand one to its handler again, discard one.

Only the operator's user of the bus reaches these subjects. A message is handled here as its worker
would handle it; handlers are idempotent, so a crash in the middle leaves it parked, to be retried.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chancery.bus.connection import Connection
from chancery.bus.load import MESSAGE_ID_HEADER, last_message, message_at
from chancery.bus.publish import publish
from chancery.events.codec import decode
from chancery.events.envelope import Envelope, Event
from chancery.events.parked import (
    DiscardOutcome,
    DiscardParked,
    FindParked,
    OfParked,
    ParkedDiscarded,
    ParkedEntries,
    ParkedRetried,
    RetryParked,
)
from chancery.events.requests import Request
from chancery.events.topology import AUTHORITY, PARKED, Service, parked_subject
from chancery.kernel.canonical import sha256_hex
from chancery.kernel.clock import Clock
from chancery.kernel.errors import Conflict, NotFound, Rejected
from chancery.kernel.ids import random_id
from chancery.runtime.delivery import (
    RETRIES_EXHAUSTED,
    Acknowledge,
    Delivery,
    Park,
    Received,
    Retry,
    judge,
)
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.parked import Keeper, ParkedRow, entry_of, parked_id, redacted
from chancery.runtime.parked_rows import ParkedRows
from chancery.runtime.telemetry import current_traceparent
from chancery.runtime.worker import WorkerSpec

RETRY_S: Final = 60.0
"""How long one retry may take in all; then the message is parked again."""
NO_TENANT: Final = "unknown"

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

_log = get_logger("chancery.runtime")


class NotDiscardable(Rejected):
    """The message cannot be given up, only tried again or answered by a later event."""

    code = "not_discardable"


@dataclass(frozen=True, slots=True)
class _Tried:
    """How often the handler was called, and why it gave up; None when it is done."""

    attempts: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class ParkedDesk:
    """Handlers of the three requests, for one service's table and its keepers."""

    service: Service
    bus: Connection
    rows: ParkedRows
    workers: Mapping[str, WorkerSpec]
    keepers: Mapping[str, Keeper]
    clock: Clock
    _running: set[str] = field(default_factory=set[str])

    async def find(self, request: Request[FindParked]) -> ParkedEntries:
        """Return one page of what is parked and quarantined."""
        wish = request.body
        found = await self.rows.find(wish)
        waiting = await self.rows.count()
        for keeper in self.keepers.values():
            found += await self._kept(keeper, wish)
            waiting += await keeper.count()
        found.sort(key=lambda row: (row.consumer, row.sequence))
        entries = tuple(entry_of(row) for row in found[: wish.limit])
        return ParkedEntries(entries=entries, has_more=len(found) > wish.limit, waiting=waiting)

    async def retry(self, request: Request[RetryParked]) -> ParkedRetried:
        """Hand a message to its handler again.

        Raises:
            NotFound: nothing of this name is parked.
            Conflict: it is resolved, is being retried, or the stream holds another message there.
        """
        row = await self._waiting(request.body)
        name = parked_id(row.consumer, row.sequence)
        if name in self._running:
            message = f"{name} is being retried already"
            raise Conflict(message, code="retry_running")
        self._running.add(name)
        try:
            keeper = self.keepers.get(row.consumer)
            return await (self._drive(row) if keeper is None else keeper.retry(row))
        finally:
            self._running.discard(name)

    async def discard(self, request: Request[DiscardParked]) -> DiscardOutcome:
        """Publish that a message is given up, then mark its row; a repeat changes nothing.

        Raises:
            NotFound: nothing of this name is parked.
            NotDiscardable: it is an event of AUTHORITY, or a projection waits for it.
            Conflict: it was handled after all.
        """
        row = await self._row(request.body)
        if row.stream == AUTHORITY or row.consumer in self.keepers:
            raise _not_discardable(row)
        if row.state == "retried":
            raise _resolved(row)
        outcome = await self._say_discarded(row, request.body.reason)
        if not row.is_resolved:
            await self.rows.resolve(row, "discarded", note=request.body.reason)
            _log.info("parked message discarded", consumer=row.consumer, sequence=row.sequence)
        return outcome

    async def _kept(self, keeper: Keeper, wish: FindParked) -> list[ParkedRow]:
        if wish.consumer not in {None, keeper.consumer}:
            return []
        after = wish.after
        if after is not None and after.consumer > keeper.consumer:
            return []
        if after is not None and after.consumer < keeper.consumer:
            wish = wish.model_copy(update={"after": None})
        return await keeper.find(wish)

    async def _row(self, body: OfParked) -> ParkedRow:
        wish = FindParked(consumer=body.consumer, sequence=body.sequence, resolved=True, limit=1)
        keeper = self.keepers.get(body.consumer)
        found = await (self.rows.find(wish) if keeper is None else keeper.find(wish))
        if not found:
            message = f"{parked_id(body.consumer, body.sequence)} is not parked in {self.service}"
            raise NotFound(message, code="parked_not_found")
        return found[0]

    async def _waiting(self, body: OfParked) -> ParkedRow:
        row = await self._row(body)
        if row.is_resolved:
            raise _resolved(row)
        return row

    async def _drive(self, row: ParkedRow) -> ParkedRetried:
        spec = self.workers.get(row.consumer)
        if spec is None:
            message = f"{self.service} has no worker {row.consumer} any more"
            raise Conflict(message, code="no_such_worker")
        received = await self._received(row)
        tried = await self._try(spec, row, received)
        if tried.reason is None:
            total = await self.rows.resolve(row, "retried", attempts=tried.attempts)
            return ParkedRetried(outcome="handled", attempts=total)
        total = await self.rows.park_again(row, tried.reason, tried.attempts)
        return ParkedRetried(outcome="parked", reason=tried.reason, attempts=total)

    async def _received(self, row: ParkedRow) -> Received:
        """Return the message as the stream holds it, or the parked copy when it is too old.

        The copy has no attributes in headers: events in binary mode come over INTAKE alone, where
        none is parked in a table.
        """
        headers = {} if row.message_id is None else {MESSAGE_ID_HEADER: row.message_id}
        stored = await message_at(self.bus, row.stream, row.sequence)
        if stored is not None and (stored.subject, stored.payload) != (row.subject, row.payload):
            message = f"{row.stream} holds another message at {row.sequence} than the parked one"
            raise Conflict(message, code="log_different")
        return Received(row.payload, {**headers, **(stored.headers if stored else {})})

    async def _try(self, spec: WorkerSpec, row: ParkedRow, received: Received) -> _Tried:
        attempt = 0
        try:
            async with asyncio.timeout(RETRY_S):
                while True:
                    attempt += 1
                    error = await _attempt(spec, _delivery(row, attempt), received)
                    match judge(error, attempt, spec.deliveries_max):
                        case Acknowledge():
                            return _Tried(attempt, None)
                        case Retry(delay_s=delay_s):
                            await asyncio.sleep(delay_s)
                        case Park(reason=reason):
                            return _Tried(attempt, reason)
        except TimeoutError:
            return _Tried(attempt, RETRIES_EXHAUSTED)

    async def _say_discarded(self, row: ParkedRow, reason: str) -> DiscardOutcome:
        payload_sha256 = sha256_hex(row.payload)
        tenant = row.tenant if row.tenant and _ID.fullmatch(row.tenant) else NO_TENANT
        name = parked_id(row.consumer, row.sequence)
        subject = parked_subject(self.service, tenant, name)
        last = await last_message(self.bus, PARKED, subject)
        if last is not None:
            told = decode(last.payload)
            if isinstance(told.data, ParkedDiscarded) and (
                told.data.payload_sha256 == payload_sha256
            ):
                return DiscardOutcome(event_id=told.id, position=last.sequence, changed=False)
        event = self._event(_discarded(row, reason, payload_sha256), tenant, name)
        expected = 0 if last is None else last.sequence
        published = await publish(self.bus, subject, event, expect_last=expected)
        return DiscardOutcome(event_id=event.id, position=published.sequence, changed=True)

    def _event(self, data: ParkedDiscarded, tenant: str, name: str) -> Event:
        envelope = Envelope(
            id=random_id(),
            source=f"/chancery/{self.service}",
            type=data.TYPE,
            subject=name,
            time=self.clock.now(),
            tenant=tenant,
            causationid=data.event_id,
            traceparent=current_traceparent(),
        )
        return Event(envelope=envelope, data=data)


def create_desk(
    service: Service,
    bus: Connection,
    rows: ParkedRows,
    workers: Sequence[WorkerSpec],
    *,
    keepers: Sequence[Keeper],
    clock: Clock,
) -> ParkedDesk:
    """Return the desk of a service with these workers."""
    return ParkedDesk(
        service=service,
        bus=bus,
        rows=rows,
        workers={spec.consumer.name: spec for spec in workers},
        keepers={keeper.consumer: keeper for keeper in keepers},
        clock=clock,
    )


async def _attempt(spec: WorkerSpec, delivery: Delivery, received: Received) -> Exception | None:
    try:
        await spec.receive(received, delivery)
    except Exception as error:  # noqa: BLE001 - the chassis judges every error.
        _log.warning(
            "a retried message failed again",
            consumer=delivery.consumer,
            sequence=delivery.sequence,
            **describe(error),
        )
        return error
    return None


def _delivery(row: ParkedRow, attempt: int) -> Delivery:
    assert row.parked_at is not None
    return Delivery(
        stream=row.stream,
        sequence=row.sequence,
        consumer=row.consumer,
        subject=row.subject,
        attempt=attempt,
        time=row.parked_at,
        pending=0,
        message_id=row.message_id,
    )


def _discarded(row: ParkedRow, reason: str, payload_sha256: str) -> ParkedDiscarded:
    told = redacted(row.payload)
    event_id = told.get("id", "")
    return ParkedDiscarded(
        stream=row.stream,
        consumer=row.consumer,
        sequence=row.sequence,
        reason_code=row.reason,
        reason=reason,
        payload_sha256=payload_sha256,
        event_id=event_id if _ID.fullmatch(event_id) else None,
        event_type=told.get("type"),
    )


def _not_discardable(row: ParkedRow) -> NotDiscardable:
    if row.stream == AUTHORITY:
        message = (
            "an event of AUTHORITY is never discarded: retry it, or answer it by a later event"
        )
        return NotDiscardable(message, code="authority_event")
    message = "a projection waits for this event: retry it, or answer it by a later event"
    return NotDiscardable(message)


def _resolved(row: ParkedRow) -> Conflict:
    message = f"{parked_id(row.consumer, row.sequence)} was {row.state} already"
    return Conflict(message, code="parked_resolved")
