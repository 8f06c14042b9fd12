"""A worker: a FastStream pull subscriber on a provisioned durable, watched and restarted.

FastStream's own loop never notices that its consumer is gone, and a ping stays green; here the
consumer is looked at every second, a lost one makes the service unready and is taken up again as
soon as it is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from faststream import AckPolicy
from faststream.nats import JStream, NatsRouter, PullSub
from nats.js.api import ConsumerConfig
from opentelemetry.trace import SpanKind
from structlog.contextvars import bound_contextvars

from chancery.bus.connection import Connection, translate_errors
from chancery.bus.consumers import ConsumerState, consumer_state
from chancery.bus.provision import consumer_settings
from chancery.events.codec import decode
from chancery.events.topology import Consumer
from chancery.kernel.errors import Unavailable
from chancery.runtime import telemetry
from chancery.runtime.acking import AckMiddleware, AckRules, delivery_of, undecoded
from chancery.runtime.delivery import (
    DELIVERIES_MAX,
    Delivery,
    Handler,
    Received,
    Receiver,
)
from chancery.runtime.logging import get_logger
from chancery.runtime.metrics import Metrics
from chancery.runtime.parking import Parking
from chancery.runtime.pulling import GuardedPull

if TYPE_CHECKING:
    from faststream import BaseMiddleware, ContextRepo
    from faststream.nats import NatsBroker, NatsMessage
    from faststream.nats.subscriber.usecases import LogicSubscriber

WATCH_S: Final = 1.0
STALLED_S: Final = 30.0
FINISH_S: Final = 20.0

_log = get_logger("chancery.runtime")


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """What a service asks for: a handler on a consumer with so many at a time.

    Events that state a type of `passes_over` are acknowledged, and nothing handles them.
    """

    consumer: Consumer
    receive: Receiver
    parking: Parking
    workers: int
    deliveries_max: int = DELIVERIES_MAX
    passes_over: Collection[str] = ()


@dataclass(slots=True)
class Worker:
    """Runs one `WorkerSpec`; `reason` says why it is not ready, None when it is."""

    spec: WorkerSpec
    connection: Connection
    metrics: Metrics
    reason: str | None = "starting"
    _pull: GuardedPull | None = None
    _progress: tuple[int, int] = (-1, -1)
    _progressed: float = field(default_factory=time.monotonic)

    async def supervise(self, broker: NatsBroker) -> None:
        """Serve until cancelled; start again whenever the consumer is lost and found."""
        rules = AckRules(
            consumer=self.spec.consumer,
            parking=self.spec.parking,
            metrics=self.metrics,
            settles=self._new_pull(),
            deliveries_max=self.spec.deliveries_max,
            ack_wait_s=self.spec.consumer.ack_wait_s,
        )
        subscriber = self._subscribe(broker, rules)
        while True:
            try:
                state = await consumer_state(self.connection, self.spec.consumer)
                rules.ack_wait_s = state.ack_wait_s
                rules.settles = pull = self._new_pull()
                await self._serve(subscriber, pull, rules)
            except Unavailable as error:
                self._explain(error)
            await asyncio.sleep(WATCH_S)

    async def give_back(self) -> None:
        """Stop taking messages; what has arrived and was not begun goes back to the stream."""
        if self._pull is not None:
            await self._pull.give_back()

    async def finish(self) -> None:
        """Return when no handler is running."""
        if self._pull is not None:
            await self._pull.wait_settled()

    def _new_pull(self) -> GuardedPull:
        spec = self.spec
        return GuardedPull(
            self.connection, spec.consumer, spec.workers, frozenset(spec.passes_over)
        )

    async def _serve(
        self, subscriber: LogicSubscriber[Any], pull: GuardedPull, rules: AckRules
    ) -> None:
        await pull.open()
        try:
            with translate_errors():
                await _start(subscriber, pull)
            self._pull = pull
            lost: Unavailable
            async with asyncio.TaskGroup() as group:
                handing_out = group.create_task(pull.hand_out(subscriber.consume))
                keeping_alive = group.create_task(rules.keep_alive())
                lost = await self._until_lost(pull)
                handing_out.cancel()
                keeping_alive.cancel()
            raise lost
        finally:
            self._pull = None
            await pull.unsubscribe()
            await subscriber.stop()

    def _explain(self, error: Unavailable) -> None:
        if self.reason != error.detail:
            name = self.spec.consumer.name
            _log.warning("worker is waiting", consumer=name, reason=error.detail)
        self.reason = error.detail

    async def _until_lost(self, pull: GuardedPull) -> Unavailable:
        """Return why the consumer is lost, after its handlers had time to end."""
        try:
            await self._watch(pull)
        except Unavailable as error:
            self._explain(error)
            await pull.give_back()
            await _let_finish(pull)
            return error
        finally:
            pull.close()

    async def _watch(self, pull: GuardedPull) -> NoReturn:
        """Look at the consumer every second; raise when it is lost."""
        while True:
            state = await consumer_state(self.connection, self.spec.consumer)
            if pull.failure is not None:
                raise pull.failure
            self._note(state, pull)
            await asyncio.sleep(WATCH_S)

    def _note(self, state: ConsumerState, pull: GuardedPull) -> None:
        name = self.spec.consumer.name
        self.metrics.pending.labels(name).set(state.pending)
        self.metrics.ack_pending.labels(name).set(state.ack_pending)
        progress = (state.delivered, pull.settled)
        if progress != self._progress or state.pending == 0:
            self._progress, self._progressed = progress, time.monotonic()
        stuck = time.monotonic() - self._progressed > STALLED_S
        self.reason = f"{state.pending} messages wait and none moves" if stuck else None

    def _subscribe(self, broker: NatsBroker, rules: AckRules) -> LogicSubscriber[Any]:
        def middleware(msg: Any, /, *, context: ContextRepo) -> BaseMiddleware[Any, Any]:
            return AckMiddleware(msg, context=context, rules=rules)

        router = NatsRouter(middlewares=(middleware,))
        consumer = self.spec.consumer
        settings = consumer_settings(consumer)
        subscriber = router.subscriber(
            stream=JStream(consumer.stream, declare=False),
            durable=consumer.name,
            config=ConsumerConfig.from_response(settings),
            pull_sub=PullSub(batch_size=1),
            ack_policy=AckPolicy.MANUAL,
            max_workers=self.spec.workers,
            decoder=undecoded,
            no_reply=True,
        )
        subscriber(self._handle)
        broker.include_router(router)
        return subscriber

    async def _handle(self, message: NatsMessage) -> None:
        delivery = delivery_of(message.raw_message, self.spec.consumer)
        headers = {str(name): str(value) for name, value in message.headers.items()}
        await self.spec.receive(Received(message.body, headers), delivery)


def decoded(handler: Handler) -> Receiver:
    """Return what decodes a message and runs `handler` in a span that continues its trace."""

    async def receive(received: Received, delivery: Delivery) -> None:
        event = decode(received.payload)
        ids: dict[str, telemetry.Attribute] = {
            "chancery.tenant": event.tenant,
            "chancery.event_id": event.id,
            "chancery.event_type": event.envelope.type,
            "chancery.subject": event.envelope.subject,
            "chancery.sequence": delivery.sequence,
            "chancery.attempt": delivery.attempt,
        }
        with (
            telemetry.span(
                f"{telemetry.HANDLE} {delivery.consumer}",
                parent=event.envelope.traceparent,
                kind=SpanKind.CONSUMER,
                ids=ids,
            ),
            bound_contextvars(tenant=event.tenant, event_id=event.id),
        ):
            await handler(event, delivery)

    return receive


async def _let_finish(pull: GuardedPull) -> None:
    """Let handlers of a lost consumer end; they are idempotent and will see the message again."""
    try:
        async with asyncio.timeout(FINISH_S):
            await pull.wait_settled()
    except TimeoutError:
        _log.warning("handlers of a lost consumer were cut off")


async def _start(subscriber: LogicSubscriber[Any], pull: GuardedPull) -> None:
    """Start FastStream's loop and put our pull under it before the loop's first turn."""
    await subscriber.start()
    original, subscriber.subscription = subscriber.subscription, pull
    if original is not None:
        with contextlib.suppress(Unavailable):
            await original.unsubscribe()
