"""Puts the service together and runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from nats.aio.msg import Msg

from chancery.bus.connection import Connection
from chancery.events.queries import PinnedRevision, RunQuery
from chancery.events.topology import ABANDONED, EXECUTION_RUNS, consumer, query_subject
from chancery.execution.adapters import ExtractiveSelector, StreamRunLog
from chancery.execution.handlers.cuts import Cuts
from chancery.execution.handlers.material import Reading
from chancery.execution.handlers.questions import Questions
from chancery.execution.handlers.selecting import Selecting
from chancery.execution.handlers.turns import Turns, turn_limits
from chancery.execution.ports import Selector, Sql
from chancery.execution.settings import ExecutionSettings
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Rejected
from chancery.runtime.parking import Parking, PostgresParking
from chancery.runtime.service import Service
from chancery.store.blobs import open_blobs
from chancery.store.pool import PoolLimits, open_pool
from chancery.tabular.jobs import Limits
from chancery.tabular.pool import WorkerPool

LIMITS = PoolLimits(connections_max=4)
ARRIVED_MAX = 512
"""The statements that are here at a time; what one principal has of them is bounded apart."""


def create_selector(model: str) -> Selector:
    """Return the selector that the setting `model` names.

    Raises:
        Rejected: for a name that this build does not know.
    """
    if model != "extractive":
        message = "CHANCERY_MODEL must be extractive"
        raise Rejected(message, field="model", code="unknown_model")
    return ExtractiveSelector()


def create_selecting(
    connection: Connection, reading: Reading, sql: Sql, selector: Selector
) -> Selecting:
    """Return the handler of gathered runs over these resources."""
    return Selecting(
        log=StreamRunLog(connection),
        blobs=reading.blobs,
        reading=reading,
        selector=selector,
        sql=sql,
        clock=SystemClock(),
    )


def create_pool(settings: ExecutionSettings) -> WorkerPool:
    """Return the processes for statements, with the budget of previews that is set."""
    limits = Limits(preview_bytes_max=settings.preview_bytes)
    return WorkerPool(limits, concurrency=settings.queries)


def register(
    service: Service,
    selecting: Selecting,
    questions: Questions,
    *,
    parking: Parking,
    workers: int,
) -> None:
    """Let `service` select for gathered runs and answer queries about datasets."""
    service.responder(
        query_subject("execution", "sql"), RunQuery, questions.run_query, concurrency=ARRIVED_MAX
    )
    service.responder(query_subject("execution", "schema"), PinnedRevision, questions.read_schema)
    service.worker(consumer(EXECUTION_RUNS), selecting, parking=parking, workers=workers)


def abandoning(questions: Questions) -> Callable[[Msg], Awaitable[None]]:
    """Return what ends the statements of callers who have gone; each replica is told of all."""

    async def receive(message: Msg) -> None:
        await questions.abandon(message.subject)

    return receive


async def serve(settings: ExecutionSettings) -> None:
    """Run execution until it is told to stop.

    Raises:
        Rejected: a setting is missing.
        Unavailable: NATS, PostgreSQL, their topology or the blobs are away.
    """
    dsn, blobs = settings.require_dsn(), open_blobs(settings.require_blobs_url())
    selector = create_selector(settings.model)
    service = Service("execution", settings)
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(service.open())
        pool = await stack.enter_async_context(
            await open_pool(dsn, name="chancery-execution", limits=LIMITS)
        )
        sql = await stack.enter_async_context(create_pool(settings))
        reading = Reading(blobs, Cuts(sql))
        selecting = create_selecting(opened.connection, reading, sql, selector)
        parking = PostgresParking(pool, "execution")
        questions = Questions(reading, sql, Turns(turn_limits(settings.queries)))
        register(service, selecting, questions, parking=parking, workers=settings.workers)
        await opened.connection.subscribe(ABANDONED, abandoning(questions))
        await service.run()
