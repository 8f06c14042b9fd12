"""The service itself: what it runs, how it starts, and how it stops without losing anything.

Stopping: 1. requests and messages are no longer taken, what had arrived unbegun goes back to the
stream; 2. handlers in flight finish within `stop_s`; 3. background loops are cancelled; 4. the
connections close. What is cut off by the deadline is given back and delivered again elsewhere.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from faststream.nats import NatsBroker

from chancery.bus import provision
from chancery.bus.connection import (
    CONNECT_TIMEOUT_S,
    Connection,
    close_client,
    connect,
    connection_options,
    translate_errors,
)
from chancery.events.parked import DiscardParked, FindParked, RetryParked
from chancery.events.requests import Message, Request
from chancery.events.topology import Consumer, command_subject, query_subject
from chancery.events.topology import Service as ServiceName
from chancery.kernel.clock import SystemClock
from chancery.kernel.errors import Unavailable
from chancery.runtime import telemetry
from chancery.runtime.background import Background
from chancery.runtime.delivery import DELIVERIES_MAX, Handler, Receiver
from chancery.runtime.health import Readiness, ReadyCheck, management_application
from chancery.runtime.http import serving
from chancery.runtime.logging import get_logger
from chancery.runtime.metrics import Metrics, create_metrics
from chancery.runtime.opening import Opening
from chancery.runtime.parked import Keeper
from chancery.runtime.parked_desk import create_desk
from chancery.runtime.parked_rows import ParkedRows
from chancery.runtime.parking import Parking, PostgresParking
from chancery.runtime.responder import CONCURRENCY, Responder
from chancery.runtime.settings import ServiceSettings
from chancery.runtime.worker import Worker, WorkerSpec, decoded

CLOSE_TIMEOUT_S: Final = 3.0
CANCEL_AGAIN_S: Final = 7.0  # Longer than any part's own closing.
GRACE_S: Final = 0.1  # FastStream's own wait; by then everything is drained or given up.

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)

_log = get_logger("chancery.runtime")


@dataclass(frozen=True, slots=True)
class Opened:
    """What a service's own parts are built on."""

    connection: Connection
    broker: NatsBroker
    metrics: Metrics


@dataclass(slots=True)
class Service:
    """A service while it is put together: register parts inside `open`, then `run`."""

    name: ServiceName
    settings: ServiceSettings
    port: int | None = None
    _opened: Opened | None = None
    _bus: Connection | None = None
    _workers: list[WorkerSpec] = field(default_factory=list[WorkerSpec])
    _responders: list[Responder[Any, Any]] = field(default_factory=list[Responder[Any, Any]])
    _keepers: list[Keeper] = field(default_factory=list[Keeper])
    _backgrounds: list[Background] = field(default_factory=list[Background])
    _readiness: Readiness = field(default_factory=Readiness)
    _opening: Opening = field(default_factory=Opening)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: Exception | None = None

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Opened]:
        """Connect, and close everything at the end.

        Raises:
            Unavailable: NATS cannot be reached.
        """
        spans = telemetry.create_telemetry(self.name, self.settings)
        telemetry.use(spans)
        metrics = create_metrics()
        url, prefix = self.settings.nats_url, self.settings.nats_api_prefix
        try:
            async with (
                connect(url, name=f"chancery-{self.name}", api_prefix=prefix) as connection,
                self._open_broker() as broker,
            ):
                metrics.published.set_function(lambda: connection.published)
                self._opened = Opened(connection=connection, broker=broker, metrics=metrics)
                self._readiness.checks["nats"] = self._connection_reason
                self._readiness.checks["requests"] = _reason_of(self._opening)
                yield self._opened
        finally:
            await asyncio.to_thread(spans.close)

    def worker(
        self,
        consumer: Consumer,
        handler: Handler,
        *,
        parking: Parking,
        workers: int,
        deliveries_max: int = DELIVERIES_MAX,
        passes_over: Collection[str] = (),
    ) -> None:
        """Handle the events of `consumer`, up to `workers` at a time.

        Events that state one of the types of `passes_over` are acknowledged and not handled.
        """
        self._workers.append(
            WorkerSpec(
                consumer=consumer,
                receive=decoded(handler),
                parking=parking,
                workers=workers,
                deliveries_max=deliveries_max,
                passes_over=passes_over,
            )
        )

    def receiver(
        self,
        consumer: Consumer,
        receive: Receiver,
        *,
        parking: Parking,
        workers: int,
        deliveries_max: int = DELIVERIES_MAX,
    ) -> None:
        """Handle messages that may be anything: `receive` decodes them itself."""
        assert not consumer.reader
        self._workers.append(
            WorkerSpec(
                consumer=consumer,
                receive=receive,
                parking=parking,
                workers=workers,
                deliveries_max=deliveries_max,
            )
        )

    def responder(
        self,
        subject: str,
        body_type: type[BodyT],
        handler: Callable[[Request[BodyT]], Awaitable[AnswerT]],
        *,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """Answer the requests on `subject`, up to `concurrency` at a time."""
        self._responders.append(
            Responder(
                service=self.name,
                subject=subject,
                body_type=body_type,
                handler=handler,
                metrics=self._require_open().metrics,
                opening=self._opening,
                concurrency=concurrency,
            )
        )

    def background(self, name: str, factory: Callable[[], Awaitable[None]]) -> None:
        """Run a loop beside the rest; it is restarted with backoff when it fails."""
        loop = Background(name=name, factory=factory, metrics=self._require_open().metrics)
        self._backgrounds.append(loop)
        self._readiness.checks[f"background {name}"] = _reason_of(loop)

    def keeper(self, keeper: Keeper) -> None:
        """Show an operator what `keeper` keeps back beside the parked messages."""
        self._keepers.append(keeper)

    def ready_check(self, name: str, check: ReadyCheck) -> None:
        """Make readiness depend on `check`, which returns a reason or None."""
        self._readiness.checks[name] = check

    def stop(self) -> None:
        """Ask `run` to stop gracefully; as SIGTERM does."""
        self._stop.set()

    async def run(self) -> None:
        """Work until SIGTERM, SIGINT or `stop`, then finish what is in flight.

        Raises:
            Unavailable, TopologyMismatch: the bus lacks what this service needs.
            Corrupt: a background loop found bytes that do not verify.
        """
        opened = self._require_open()
        await provision.check(opened.connection, self.name)
        self._serve_parked(opened)
        application = management_application(self._readiness, opened.metrics)
        with self._signals():
            async with serving(
                application,
                host=self.settings.management_host,
                port=self.settings.management_port,
                port_file=self.settings.management_port_file,
            ) as self.port:
                await self._work(opened)
        if self._failure is not None:
            raise self._failure

    def _serve_parked(self, opened: Opened) -> None:
        """Let an operator look at, retry and discard what the workers park in the database."""
        parking = next(
            (spec.parking for spec in self._workers if isinstance(spec.parking, PostgresParking)),
            None,
        )
        if parking is None:
            return
        desk = create_desk(
            self.name,
            opened.connection,
            ParkedRows(parking.pool, parking.schema),
            self._workers,
            keepers=self._keepers,
            clock=SystemClock(),
        )
        name = self.name
        self.responder(query_subject(name, "parked"), FindParked, desk.find)
        self.responder(command_subject(name, "retry-parked"), RetryParked, desk.retry)
        self.responder(command_subject(name, "discard-parked"), DiscardParked, desk.discard)

    async def _work(self, opened: Opened) -> None:
        workers, bus = self._create_workers(opened), self._require_bus()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(worker.supervise(opened.broker)) for worker in workers]
            tasks += [group.create_task(self._guard(loop)) for loop in self._backgrounds]
            try:
                for responder in self._responders:
                    await responder.start(opened.broker)
                tasks.append(group.create_task(self._opening.open(bus, opened.connection)))
                _log.info("service is running", port=self.port)
                await self._stop.wait()
                await self._drain(workers)
            finally:
                await _cancel(tasks)

    async def _drain(self, workers: list[Worker]) -> None:
        """Carry out steps 1 and 2 of stopping, within `stop_s`."""
        _log.info("service is stopping")
        self._opening.close()
        try:
            async with asyncio.timeout(self.settings.stop_s), asyncio.TaskGroup() as group:
                for worker in workers:
                    group.create_task(_drain_worker(worker))
                for responder in self._responders:
                    group.create_task(_drain_responder(responder))
        except TimeoutError:
            _log.warning("handlers were cut off", stop_s=self.settings.stop_s)

    def _create_workers(self, opened: Opened) -> list[Worker]:
        bus = self._require_bus()
        workers: list[Worker] = []
        for spec in self._workers:
            worker = Worker(spec=spec, connection=bus, metrics=opened.metrics)
            self._readiness.checks[f"consumer {spec.consumer.name}"] = _reason_of(worker)
            workers.append(worker)
        return workers

    async def _guard(self, loop: Background) -> None:
        """Run a background loop; what it cannot survive stops the service."""
        try:
            await loop.supervise()
        except Exception as error:  # noqa: BLE001 - told by `run` after draining.
            self._failure = error
            self._stop.set()

    @asynccontextmanager
    async def _open_broker(self) -> AsyncGenerator[NatsBroker]:
        """Open FastStream's own connection, for what it consumes."""
        options = connection_options(self.settings.nats_url, name=f"chancery-{self.name}-broker")

        async def count_reconnect() -> None:
            if self._bus is not None:
                self._bus.generation += 1

        broker = NatsBroker(
            **options,
            reconnected_cb=count_reconnect,
            apply_types=False,
            serializer=None,  # without it no model is built for each handler, which none would use
            logger=None,
            graceful_timeout=GRACE_S,
            js_options={"prefix": self.settings.nats_api_prefix},
        )
        try:
            with translate_errors():
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    client = await broker.connect()
                    await broker.start()
            self._bus = Connection(client=client, api_prefix=self.settings.nats_api_prefix)
            yield broker
        finally:
            await _stop_broker(broker)
            if self._bus is not None:
                await close_client(self._bus.client)

    @contextmanager
    def _signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        handled = (signal.SIGTERM, signal.SIGINT)
        for number in handled:
            loop.add_signal_handler(number, self._stop.set)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    async def _connection_reason(self) -> str | None:
        opened = self._require_open()
        both = opened.connection.is_connected and self._bus is not None and self._bus.is_connected
        return None if both else "not connected to NATS"

    def _require_open(self) -> Opened:
        assert self._opened is not None, "register parts inside `async with service.open()`"
        return self._opened

    def _require_bus(self) -> Connection:
        assert self._bus is not None
        return self._bus


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel, and again after a while: libraries swallow cancellations on Python 3.11."""
    waiting = {task for task in tasks if not task.done()}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=CANCEL_AGAIN_S)


def _reason_of(part: Worker | Background | Opening) -> ReadyCheck:
    async def reason() -> str | None:
        return part.reason

    return reason


async def _drain_worker(worker: Worker) -> None:
    await worker.give_back()
    await worker.finish()


async def _drain_responder(responder: Responder[Any, Any]) -> None:
    try:
        await responder.finish()
    except Unavailable as error:
        _log.warning("responder was cut off", subject=responder.subject, reason=error.detail)


async def _stop_broker(broker: NatsBroker) -> None:
    try:
        with translate_errors():
            async with asyncio.timeout(2 * CLOSE_TIMEOUT_S):
                await broker.stop()
    except Unavailable as error:
        _log.warning("closing the broker failed", reason=error.detail)
