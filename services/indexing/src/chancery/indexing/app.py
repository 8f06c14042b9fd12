"""Puts the service together and runs it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from chancery.bus.connection import Connection
from chancery.events.envelope import Event
from chancery.events.index import ResourceKind
from chancery.events.index_requests import ReconcileSource, RefreshRevision
from chancery.events.topology import (
    INDEXING_PUBLICATIONS,
    authority_subject,
    command_subject,
    consumer,
)
from chancery.extract.limits import DEADLINE_FACTOR, Limits
from chancery.extract.pool import ExtractionPool
from chancery.indexing.adapters.ledger import PostgresLedger
from chancery.indexing.adapters.lost_forms import PostgresLostForms
from chancery.indexing.adapters.retries import PostgresRetries
from chancery.indexing.adapters.slow_queue import PostgresSlowQueue
from chancery.indexing.adapters.streams import StreamAuthority, StreamIndex
from chancery.indexing.adapters.wishes import PostgresWishes
from chancery.indexing.domain.history import ResourceRef
from chancery.indexing.handlers.briefly import AT_ONCE, Briefly
from chancery.indexing.handlers.extraction import Extraction
from chancery.indexing.handlers.fairly import WAITING_MAX, Fairly
from chancery.indexing.handlers.grouping import Announcements
from chancery.indexing.handlers.progress import Announcer
from chancery.indexing.handlers.publications import PASSED_OVER, Publications
from chancery.indexing.handlers.recovering import Recovering
from chancery.indexing.handlers.refreshing import Refreshing
from chancery.indexing.handlers.retrying import Retrying
from chancery.indexing.handlers.slowly import Slowly
from chancery.indexing.ports import Converter, DocumentReader
from chancery.indexing.settings import IndexingSettings
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Corrupt
from chancery.runtime.delivery import Delivery
from chancery.runtime.parking import PostgresParking
from chancery.runtime.service import Service
from chancery.store.blobs import Blobs, open_blobs
from chancery.store.pool import Pool, PoolLimits, open_pool
from chancery.tabular.pool import WorkerPool

LIMITS = PoolLimits(connections_max=4)
"""One group of deliveries uses the ledger at a time; parking comes beside it."""

_KINDS: Final[tuple[ResourceKind, ...]] = ("source", "dataset", "item", "file")


@dataclass(frozen=True, slots=True)
class Worker:
    """Takes deliveries of INDEXING_PUBLICATIONS to their resource, and wishes beside them."""

    publications: Publications
    refreshing: Refreshing
    slowly: Slowly
    recovering: Recovering
    retrying: Retrying

    async def handle(self, event: Event, delivery: Delivery) -> None:
        """Handle one event of a source or dataset; see `Publications.handle`."""
        await self.publications.handle(resource_of(event, delivery.subject), event)


def resource_of(event: Event, subject: str) -> ResourceRef:
    """Return the resource whose subject this is.

    Raises:
        Corrupt: when the event does not belong there.
    """
    key = event.envelope.subject
    kind = event.data.TYPE.split(".")[1]
    known: ResourceKind | None = next((each for each in _KINDS if each == kind), None)
    if known is None or subject != authority_subject(event.tenant, kind, key):
        message = "the event is not about the aggregate of its subject"
        raise Corrupt(message, code="foreign_subject")
    return ResourceRef(event.tenant, known, key)


def create_worker(
    connection: Connection,
    pool: Pool,
    blobs: Blobs,
    reader: DocumentReader,
    converter: Converter,
    *,
    at_once: int = AT_ONCE,
    conversions: Fairly | None = None,
) -> Worker:
    """Return the worker over these resources; `at_once` documents for parsers are in hand."""
    announcer = Announcer(
        PostgresLedger(pool), StreamAuthority(connection), StreamIndex(connection), SystemClock()
    )
    extraction = Extraction(blobs, reader, converter, conversions=conversions or Fairly())
    announcements = Announcements(announcer)
    refreshing = Refreshing(PostgresWishes(pool), announcements, extraction)
    slowly = Slowly(PostgresSlowQueue(pool), announcements, extraction)
    recovering = Recovering(PostgresLostForms(pool), announcements, extraction, slowly)
    publications = Publications(announcements, extraction, slowly, Briefly(at_once))
    retrying = Retrying(PostgresRetries(pool), slowly)
    return Worker(publications, refreshing, slowly, recovering, retrying)


async def serve(settings: IndexingSettings) -> None:
    """Run indexing until it is told to stop.

    Raises:
        Rejected: a setting is missing.
        Unavailable: NATS, PostgreSQL, their topology or the blobs are away.
    """
    dsn, blobs_url = settings.require_dsn(), settings.require_blobs_url()
    service = Service("indexing", settings)
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(service.open())
        pool = await stack.enter_async_context(
            await open_pool(dsn, name="chancery-indexing", limits=LIMITS)
        )
        reader = await stack.enter_async_context(
            ExtractionPool(
                Limits(settings.extraction_s, DEADLINE_FACTOR * settings.extraction_s),
                concurrency=settings.extractions,
            )
        )
        converter = await stack.enter_async_context(WorkerPool(concurrency=settings.conversions))
        worker = create_worker(
            opened.connection,
            pool,
            open_blobs(blobs_url),
            reader,
            converter,
            at_once=2 * settings.extractions,
            conversions=Fairly(settings.conversions, min(WAITING_MAX, settings.workers // 2)),
        )
        service.worker(
            consumer(INDEXING_PUBLICATIONS),
            worker.handle,
            parking=PostgresParking(pool, "indexing"),
            workers=settings.workers,
            passes_over=PASSED_OVER,
        )
        serve_wishes(service, worker.refreshing)
        service.background("slow extractions", worker.slowly.run)
        service.background("lost forms", worker.recovering.run)
        service.background("retries", worker.retrying.run)
        await service.run()


def serve_wishes(service: Service, refreshing: Refreshing) -> None:
    """Answer what is asked of indexing, and carry it out."""
    refresh = command_subject("indexing", "refresh")
    service.responder(refresh, RefreshRevision, refreshing.refresh)
    reconcile = command_subject("indexing", "reconcile")
    service.responder(reconcile, ReconcileSource, refreshing.reconcile)
    service.background("wishes", refreshing.run)
