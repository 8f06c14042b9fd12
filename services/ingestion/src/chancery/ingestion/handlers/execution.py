"""How a command runs: authenticate, look for its own events, decide, append, report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

from chancery.authority.names import AggregateRef, Change, principal_ref, tenant_ref
from chancery.authority.rights import admit, admit_sender
from chancery.authority.roots import roots_of
from chancery.authority.states import ItemState, PrincipalState, TenantState
from chancery.authority.wording import check_storable
from chancery.bus.publish import DuplicateMessages, WrongSequence
from chancery.events.commands import CheckUpload
from chancery.events.requests import Message, Request
from chancery.ingestion.domain.aggregates import Address, Aggregate, Record
from chancery.ingestion.domain.commands import Command
from chancery.ingestion.domain.intents import Intent, intent_of
from chancery.ingestion.domain.messages import events_of, outgoing_of
from chancery.ingestion.domain.views import Settled, View
from chancery.ingestion.errors import Contended, KeyReused
from chancery.ingestion.handlers.appending import Appender
from chancery.ingestion.handlers.loading import Aggregates
from chancery.ingestion.ports import Log
from chancery.kernel.clock import Clock
from chancery.kernel.errors import ChanceryError
from chancery.runtime import telemetry

TRIES_MAX = 3

B = TypeVar("B", bound=Message)
R = TypeVar("R", bound=Message)


@dataclass(slots=True)
class Executor:
    """Runs commands; those that write one aggregate take turns inside this process.

    1. Load the caller and the command's aggregates from the leader; authenticate.
    2. Look for the request's own events: found means it was stored before, here or by a twin.
    3. Decide. A refusal or no-op stands only when a second look at the leader finds nothing new.
       (Only release may publish a fence; on one node a read of the leader is exact.)
    4. Append with what was read as the expectation. Moved: from 1, three tries.
    """

    log: Log
    aggregates: Aggregates
    appender: Appender
    clock: Clock
    token_key: bytes = field(repr=False)
    _turns: WeakValueDictionary[Address, asyncio.Lock] = field(
        default_factory=WeakValueDictionary[Address, asyncio.Lock]
    )

    async def execute(self, command: Command[B, R], request: Request[B]) -> R:
        """Run `command` for `request` and return what is told of it.

        Raises:
            Denied, Rejected, NotFound: the command is refused; nothing was appended.
            UnreadableText: it holds text that no reader of the log could store.
            KeyReused: the Idempotency-Key named another request.
            Contended: others kept winning.
            Unavailable: the log is away; sending the same request again is safe.
        """
        check_storable(request.body.model_dump(mode="json"))
        intent = intent_of(
            request,
            now=self.clock.now(),
            token_key=self.token_key,
            traceparent=telemetry.current_traceparent() or request.traceparent,
        )
        return await self.settle(command, intent)

    async def settle(self, command: Command[B, R], intent: Intent[B]) -> R:
        """Run `command` for an intent, whoever it came from; otherwise like `execute`."""
        target = Address(command.tenant(intent), command.reads(intent)[0])
        async with self.turns((target,)):
            for _ in range(TRIES_MAX):
                settled = await self._attempt(command, intent)
                if settled is not None:
                    return command.report(settled, intent)
                await self.appender.pause()
        raise Contended

    async def _attempt(self, command: Command[B, R], intent: Intent[B]) -> Settled | None:
        """Return how the command ended, or None when the log moved meanwhile."""
        view = await self._view(command, intent)
        earlier = own_records(view, intent)
        # Whether somebody may upload is asked of each body, one that repeats another too.
        if earlier and not isinstance(intent.body, CheckUpload):
            return Settled(view, earlier, earlier[-1].sequence)
        try:
            changes = command.decide(view, intent)
        except ChanceryError:
            if await self._confirmed(command, intent, view) is None:
                return None
            raise
        if earlier:
            return Settled(view, earlier, earlier[-1].sequence)
        if not changes:
            position = await self._confirmed(command, intent, view)
            return None if position is None else Settled(view, (), position)
        return await self._append(command.tenant(intent), changes, intent, view)

    async def _view(self, command: Command[B, R], intent: Intent[B]) -> View:
        found = await self.aggregates.load(dict.fromkeys(addresses_of(command, intent)))
        view, tenant = view_of(command, intent, found), command.tenant(intent)
        refs = dict.fromkeys((*_evidence(view), *command.further(view, intent)))
        further = [Address(tenant, ref) for ref in refs if ref not in view.aggregates]
        if not further:
            return view
        loaded = await self.aggregates.load(further)
        roots = {address.ref: aggregate for address, aggregate in loaded.items()}
        return View(view.actor, {**view.aggregates, **roots})

    async def _confirmed(self, command: Command[B, R], intent: Intent[B], view: View) -> int | None:
        """Return the position up to which the view is true, or None when it is out of date."""
        position = await self.log.position()
        again = await self._view(command, intent)
        same = again.actor == view.actor and all(
            aggregate.sequence == view.aggregates[ref].sequence
            for ref, aggregate in again.aggregates.items()
        )
        return position if same else None

    async def _append(
        self, tenant: str, changes: tuple[Change, ...], intent: Intent[B], view: View
    ) -> Settled | None:
        events = events_of(tenant, changes, intent)
        messages = outgoing_of(tenant, changes, events, view.aggregates)
        try:
            published = await self.appender.append(messages)
        except WrongSequence:
            return None
        except DuplicateMessages as error:
            raise KeyReused from error
        if any(place.duplicate for place in published):
            return await self._stored_before(tenant, changes, intent, view)
        records = tuple(
            Record(place.sequence, event) for place, event in zip(published, events, strict=True)
        )
        return self.stored(tenant, changes, records, view)

    def stored(
        self, tenant: str, changes: tuple[Change, ...], records: tuple[Record, ...], view: View
    ) -> Settled:
        """Return how a command ended whose events were just appended, and remember them."""
        after: dict[AggregateRef, Aggregate] = dict(view.aggregates)
        for change, record in zip(changes, records, strict=True):
            after[change.ref] = self.aggregates.learn(Address(tenant, change.ref), (record,))
        return Settled(View(view.actor, after), records, records[-1].sequence)

    @asynccontextmanager
    async def turns(self, targets: Iterable[Address]) -> AsyncGenerator[None]:
        """Take the turn of each of these aggregates in this process, in one order for all."""
        async with AsyncExitStack() as stack:
            for target in sorted(targets):
                await stack.enter_async_context(self._turns.setdefault(target, asyncio.Lock()))
            yield

    async def _stored_before(
        self,
        tenant: str,
        changes: tuple[Change, ...],
        intent: Intent[B],
        view: View,
    ) -> Settled:
        """Read back what an earlier sending stored; on another subject it was another request."""
        refs = dict.fromkeys(change.ref for change in changes)
        loaded = await self.aggregates.load(Address(tenant, ref) for ref in refs)
        after: Mapping[AggregateRef, Aggregate] = {
            **view.aggregates,
            **{address.ref: aggregate for address, aggregate in loaded.items()},
        }
        again = View(view.actor, after)
        records = own_records(again, intent)
        if not records:
            raise KeyReused
        return Settled(again, records, records[-1].sequence)


def addresses_of(command: Command[B, R], intent: Intent[B]) -> tuple[Address, ...]:
    """Return what the command has to load: its caller's aggregates and its own."""
    tenant, key = command.tenant(intent), intent.key
    return (
        Address(key.tenant, tenant_ref(key.tenant)),
        Address(key.tenant, principal_ref(key.principal)),
        *(Address(tenant, ref) for ref in command.reads(intent)),
    )


def view_of(command: Command[B, R], intent: Intent[B], found: Mapping[Address, Aggregate]) -> View:
    """Return the view of the command's caller over loaded aggregates.

    Raises:
        Denied: when the credential is not admitted.
    """
    own_tenant, own_principal, *reads = addresses_of(command, intent)
    states = found[own_tenant].state(TenantState), found[own_principal].state(PrincipalState)
    if intent.claim is None:
        actor = admit_sender(intent.key.tenant, intent.key.principal, *states)
    else:
        actor = admit(intent.claim, *states, intent.now)
    return View(actor, {address.ref: found[address] for address in reads})


def _evidence(view: View) -> list[AggregateRef]:
    """Return what the items of a view rest on."""
    items = [each.state(ItemState) for ref, each in view.aggregates.items() if ref.kind == "item"]
    return [ref for each in items if each is not None for ref in roots_of(each)]


def own_records(view: View, intent: Intent[Message]) -> tuple[Record, ...]:
    """Return the events that the request appended before, in order.

    An upload over HTTP is permitted before its body has arrived: the command that follows compares
    it. A submission over the bus has its body.

    Raises:
        KeyReused: they were appended for a request with another body.
    """
    known = {
        event_id: record
        for aggregate in view.aggregates.values()
        for event_id, record in aggregate.records.items()
    }
    found = tuple(known[each] for each in intent.key.event_ids() if each in known)
    if isinstance(intent.body, CheckUpload) and intent.claim is not None:
        return found
    if any(each.event.envelope.requestsha256 != intent.key.request_sha256 for each in found):
        raise KeyReused
    return found
