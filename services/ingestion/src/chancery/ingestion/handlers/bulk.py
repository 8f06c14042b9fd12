"""Many documents in one append: each is decided by itself, and one that is refused fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from chancery.authority.names import Change
from chancery.authority.wording import check_storable
from chancery.bus.publish import DuplicateMessages, Outgoing, WrongSequence
from chancery.events.commands_bulk import BulkPublished, DocumentsPublished, PublishDocuments
from chancery.events.envelope import Event
from chancery.events.requests import Request
from chancery.ingestion.domain.aggregates import Record
from chancery.ingestion.domain.bulk import PUBLISH_DOCUMENT, OneDocument, documents_of, failed
from chancery.ingestion.domain.intents import Intent, intent_of
from chancery.ingestion.domain.messages import events_of, outgoing_of
from chancery.ingestion.domain.views import Settled, View
from chancery.ingestion.errors import Contended
from chancery.ingestion.handlers.execution import Executor, addresses_of, own_records, view_of
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.runtime import telemetry

ALONE_AT_ONCE = 16


@dataclass(slots=True)
class _Decided:
    """One document on its way; `ended` is how, `again` that it has to be run by itself."""

    intent: Intent[OneDocument]
    view: View
    changes: tuple[Change, ...] = ()
    events: tuple[Event, ...] = ()
    ended: Settled | ChanceryError | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class BulkPublisher:
    """Publishes batches over the executor of single commands.

    Whatever does not go smoothly (a subject that moved, an id that was stored before) is left to
    the executor, document by document; so are the rules of repetition and of lost acknowledgements.
    """

    executor: Executor
    _alone: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ALONE_AT_ONCE))

    async def publish(self, request: Request[PublishDocuments]) -> DocumentsPublished:
        """Publish every document of the request that may be, and tell what became of each.

        Raises:
            Denied: the caller's credential is not admitted; nothing was appended.
            Rejected: the batch names a source twice.
            Unavailable: the log is away; sending the same request again is safe.
        """
        check_storable(request.body.model_dump(mode="json"))
        intent = intent_of(
            request,
            now=self.executor.clock.now(),
            token_key=self.executor.token_key,
            traceparent=telemetry.current_traceparent() or request.traceparent,
        )
        intents = documents_of(intent)
        targets = [addresses_of(PUBLISH_DOCUMENT, each)[2] for each in intents]
        async with self.executor.turns(targets):
            decided = await self._decide(intents)
            await self._append([each for each in decided if each.changes and each.ended is None])
            await self._confirm([each for each in decided if not each.changes])
        try:
            async with asyncio.TaskGroup() as group:
                told = [group.create_task(self._told(each)) for each in decided]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return DocumentsPublished(documents=tuple(each.result() for each in told))

    async def _views(self, intents: Sequence[Intent[OneDocument]]) -> list[View]:
        wanted = dict.fromkeys(
            address for each in intents for address in addresses_of(PUBLISH_DOCUMENT, each)
        )
        found = await self.executor.aggregates.load(wanted)
        return [view_of(PUBLISH_DOCUMENT, each, found) for each in intents]

    async def _decide(self, intents: Sequence[Intent[OneDocument]]) -> list[_Decided]:
        views = await self._views(intents)
        return [_decided(each, view) for each, view in zip(intents, views, strict=True)]

    async def _append(self, changing: Sequence[_Decided]) -> None:
        messages = [message for each in changing for message in _messages(each)]
        if not messages:
            return
        try:
            places = iter(await self.executor.appender.append(messages))
        except (WrongSequence, DuplicateMessages, Contended):
            for each in changing:
                each.again = True
            return
        for each in changing:
            own = [(next(places), event) for event in each.events]
            each.again = any(place.duplicate for place, _ in own)
            if not each.again:
                records = tuple(Record(place.sequence, event) for place, event in own)
                tenant = each.intent.tenant
                each.ended = self.executor.stored(tenant, each.changes, records, each.view)

    async def _confirm(self, quiet: Sequence[_Decided]) -> None:
        """Let refusals and no-ops stand only when a second look at the leader finds nothing new."""
        if not quiet:
            return
        position = await self.executor.log.position()
        views = await self._views([each.intent for each in quiet])
        for each, view in zip(quiet, views, strict=True):
            each.again = not _is_same(each.view, view)
            if each.ended is None:
                each.ended = Settled(view, (), position)

    async def _told(self, each: _Decided) -> BulkPublished:
        try:
            return await self._outcome(each)
        except Unavailable:
            raise
        except ChanceryError as error:
            return failed(each.intent.body.document, error)

    async def _outcome(self, each: _Decided) -> BulkPublished:
        if each.again or each.ended is None:
            async with self._alone:
                return await self.executor.settle(PUBLISH_DOCUMENT, each.intent)
        if isinstance(each.ended, ChanceryError):
            raise each.ended
        return PUBLISH_DOCUMENT.report(each.ended, each.intent)


def _decided(intent: Intent[OneDocument], view: View) -> _Decided:
    try:
        earlier = own_records(view, intent)
        if earlier:
            return _Decided(intent, view, ended=Settled(view, earlier, earlier[-1].sequence))
        return _Decided(intent, view, PUBLISH_DOCUMENT.decide(view, intent))
    except ChanceryError as error:
        return _Decided(intent, view, ended=error)


def _messages(each: _Decided) -> tuple[Outgoing, ...]:
    tenant = each.intent.tenant
    each.events = events_of(tenant, each.changes, each.intent)
    return outgoing_of(tenant, each.changes, each.events, each.view.aggregates)


def _is_same(one: View, other: View) -> bool:
    return one.actor == other.actor and all(
        aggregate.sequence == one.aggregates[ref].sequence
        for ref, aggregate in other.aggregates.items()
    )
