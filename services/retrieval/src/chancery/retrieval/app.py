"""Puts the service together and runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chancery.bus.connection import Connection
from chancery.bus.consumers import consumer_state
from chancery.bus.pull import ConsumerLost
from chancery.events.envelope import Event
from chancery.events.index_requests import ConfirmRevision
from chancery.events.search import Search
from chancery.events.topology import (
    RETRIEVAL_RUNS,
    Consumer,
    consumer,
    query_subject,
    retrieval_readers,
)
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.retrieval.adapters.folders import IndexFolders
from chancery.retrieval.adapters.streams import StreamIndexLog, StreamRunLog
from chancery.retrieval.adapters.tenant_indexes import TenantIndexes
from chancery.retrieval.adapters.words import count_words
from chancery.retrieval.handlers.following import Following
from chancery.retrieval.handlers.gathering import Gathering
from chancery.retrieval.handlers.keeping import Keeping
from chancery.retrieval.handlers.loading import Loading
from chancery.retrieval.handlers.searching import Searching
from chancery.retrieval.settings import RetrievalSettings
from chancery.runtime.delivery import Delivery
from chancery.runtime.parking import Parking, PostgresParking
from chancery.runtime.service import Service
from chancery.store.blobs import Blobs, open_blobs
from chancery.store.pool import PoolLimits, open_pool

LIMITS = PoolLimits(connections_max=4)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The parts of the service over one index."""

    keeping: Keeping
    gathering: Gathering
    searching: Searching

    async def gather(self, event: Event, delivery: Delivery) -> None:
        """Handle one admitted run; see `Gathering.handle`."""
        await self.gathering.handle(event, attempt=delivery.attempt)

    async def not_ready(self) -> str | None:
        """Return why the index cannot be searched yet."""
        return self.keeping.following.reason


@asynccontextmanager
async def open_retrieval(
    connection: Connection, settings: RetrievalSettings, blobs: Blobs, parking: Parking
) -> AsyncGenerator[Retrieval]:
    """Open the indexes below `data_dir` and put the parts over them."""
    folders = IndexFolders(settings.index_folder)
    live, beside = retrieval_readers(settings.replica)

    def over(folder: Path, reader: Consumer) -> Following:
        return Following(
            log=StreamIndexLog(connection, reader),
            index=TenantIndexes.open(folder),
            checkpoint=folders.checkpoint(folder),
            loading=Loading(blobs),
            parking=parking,
        )

    await asyncio.to_thread(folders.settle)
    following = await asyncio.to_thread(over, folders.live, live)
    keeping = Keeping(
        folders=folders,
        following=following,
        open_live=partial(TenantIndexes.open, folders.live),
        open_beside=partial(over, folders.beside, beside),
    )
    gathering = Gathering(following, StreamRunLog(connection), blobs, SystemClock())
    try:
        yield Retrieval(keeping, gathering, Searching(following, count_words))
    finally:
        await asyncio.to_thread(following.index.close)


async def check_replica(connection: Connection, replica: int) -> None:
    """Refuse to start as a replica whose readers nobody provisioned.

    Raises:
        Unavailable: saying how they are.
    """
    for reader in retrieval_readers(replica):
        try:
            await consumer_state(connection, reader)
        except ConsumerLost as error:
            message = (
                f"NATS lacks {reader.name}; run chancery streams apply "
                f"--replicas-of-retrieval {replica + 1}"
            )
            raise Unavailable(message, code="topology_missing") from error


async def serve(settings: RetrievalSettings) -> None:
    """Run retrieval until it is told to stop.

    Raises:
        Rejected: a setting is missing.
        Unavailable: NATS, PostgreSQL, their topology or the blobs are away.
    """
    dsn, blobs_url = settings.require_dsn(), settings.require_blobs_url()
    service = Service("retrieval", settings)
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(service.open())
        await check_replica(opened.connection, settings.replica)
        pool = await stack.enter_async_context(
            await open_pool(dsn, name="chancery-retrieval", limits=LIMITS)
        )
        parking = PostgresParking(pool, "retrieval")
        retrieval = await stack.enter_async_context(
            open_retrieval(opened.connection, settings, open_blobs(blobs_url), parking)
        )
        service.background("index", retrieval.keeping.run)
        service.ready_check("index", retrieval.not_ready)
        service.worker(
            consumer(RETRIEVAL_RUNS),
            retrieval.gather,
            parking=parking,
            workers=settings.workers,
        )
        searching = retrieval.searching
        service.responder(query_subject("retrieval", "search"), Search, searching.search)
        confirm = query_subject("retrieval", "confirm")
        service.responder(confirm, ConfirmRevision, searching.confirm)
        await service.run()
