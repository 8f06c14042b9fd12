"""The one FastStream middleware that acknowledges: every way out of it settles the message.

Under a manual policy an error before the handler would leave a message unacknowledged for its whole
`ack_wait`; here it is given back at once. While a handler runs, the server is told so every third
of `ack_wait`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from faststream import BaseMiddleware

from chancery.bus.connection import translate_errors
from chancery.bus.headers import event_headers
from chancery.bus.load import MESSAGE_ID_HEADER, Stored
from chancery.bus.pull import parse_position
from chancery.bus.reader import moment_of
from chancery.events.topology import Consumer
from chancery.kernel.errors import ChanceryError, Unavailable
from chancery.runtime.delivery import Acknowledge, Delivery, Park, Retry, judge
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.metrics import Metrics
from chancery.runtime.parking import ParkedMessage, Parking, tenant_of

if TYPE_CHECKING:
    from types import TracebackType

    from faststream import ContextRepo
    from faststream.message import StreamMessage
    from faststream.nats.message import NatsMessage
    from nats.aio.msg import Msg

GIVE_BACK_DELAY_S: Final = 1.0
PARKING_DELAY_S: Final = 5.0

_log = get_logger("chancery.runtime")


class Settles(Protocol):
    """What has to know that a message is no longer in work."""

    def settle(self) -> None:
        """Note that one message was acknowledged, given back or parked."""
        ...


@dataclass(slots=True)
class AckRules:
    """How one consumer's messages end; `ack_wait_s` is the server's."""

    consumer: Consumer
    parking: Parking
    metrics: Metrics
    settles: Settles
    deliveries_max: int
    ack_wait_s: float
    in_work: dict[int, Msg] = field(default_factory=dict[int, "Msg"])

    async def keep_alive(self) -> NoReturn:
        """Tell the server of all messages in work, every third of `ack_wait_s`, until cancelled."""
        while True:
            await asyncio.sleep(self.ack_wait_s / 3)
            for message in [each for each in self.in_work.values() if not each.is_acked]:
                with contextlib.suppress(Unavailable), translate_errors():
                    await message.in_progress()


class AckMiddleware(BaseMiddleware[Any, "Msg"]):
    """Runs the handler and carries out the verdict of `delivery.judge`."""

    __slots__ = ("_rules", "_settles")

    def __init__(self, msg: Msg, /, *, context: ContextRepo, rules: AckRules) -> None:
        """Serve one delivery of `msg`."""
        super().__init__(msg, context=context)
        self._rules = rules
        self._settles = rules.settles  # The rules get another one when the worker restarts.

    async def consume_scope(
        self,
        call_next: Callable[[StreamMessage[Any]], Awaitable[Any]],
        msg: StreamMessage[Any],
    ) -> None:
        """Handle the message, then acknowledge, give back or park it."""
        delivery = delivery_of(self.msg, self._rules.consumer)
        metrics = self._rules.metrics
        if delivery.attempt > 1:
            metrics.redelivered.labels(delivery.consumer).inc()
        began = time.perf_counter()
        error = await self._attempt(call_next, msg)
        metrics.handling_seconds.labels(delivery.consumer).observe(time.perf_counter() - began)
        match judge(error, delivery.attempt, self._rules.deliveries_max):
            case Acknowledge():
                outcome = "done"
                with translate_errors():
                    await self.msg.ack()
            case Retry(delay_s=delay_s):
                outcome = "retried"
                self._tell("message will be delivered again", delivery, error)
                with translate_errors():
                    await self.msg.nak(delay=delay_s)
            case Park(reason=reason):
                outcome = await self._park(delivery, reason, error)
        metrics.handled.labels(delivery.consumer, outcome).inc()

    async def after_processed(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> bool:
        """Give back what nothing has settled: an error before the handler, or a cancellation."""
        del exc_type, exc_tb
        try:
            if not self.msg.is_acked:
                if exc_val is not None:
                    _log.error("message was not handled", **describe(exc_val))
                with contextlib.suppress(Unavailable), translate_errors():
                    await self.msg.nak(delay=GIVE_BACK_DELAY_S)
        finally:
            self._settles.settle()
        return False

    async def _attempt(
        self,
        call_next: Callable[[StreamMessage[Any]], Awaitable[Any]],
        msg: StreamMessage[Any],
    ) -> Exception | None:
        """Return how the handler ended; the delivery is kept alive meanwhile."""
        in_work = self._rules.in_work
        in_work[id(self.msg)] = self.msg
        try:
            await call_next(msg)
        except Exception as error:  # noqa: BLE001 - the chassis judges every error.
            return error
        finally:
            del in_work[id(self.msg)]
        return None

    async def _park(self, delivery: Delivery, reason: str, error: Exception | None) -> str:
        stored = Stored(
            sequence=delivery.sequence,
            subject=delivery.subject,
            payload=self.msg.data,
            time=delivery.time,
            message_id=delivery.message_id,
            headers=event_headers(self.msg.headers),
        )
        parked = ParkedMessage(
            stream=delivery.stream,
            consumer=delivery.consumer,
            stored=stored,
            reason=reason,
            attempts=delivery.attempt,
            tenant=tenant_of(delivery.subject),
        )
        try:
            await self._rules.parking.park(parked)
        except Exception as failure:  # noqa: BLE001 - an unparked message must be kept.
            self._tell("message could not be parked", delivery, failure)
            with translate_errors():
                await self.msg.nak(delay=PARKING_DELAY_S)
            return "retried"
        self._tell(f"message parked: {reason}", delivery, error)
        with translate_errors():
            await self.msg.term()
        return "parked"

    def _tell(self, phrase: str, delivery: Delivery, error: Exception | None) -> None:
        fields = describe(error) if error is not None else {}
        level = _log.warning if isinstance(error, ChanceryError) else _log.error
        level(
            phrase,
            consumer=delivery.consumer,
            sequence=delivery.sequence,
            attempt=delivery.attempt,
            message_id=delivery.message_id,
            **fields,
        )


def delivery_of(msg: Msg, consumer: Consumer) -> Delivery:
    """Return what the reply subject and headers of a delivered message say."""
    position = parse_position(msg.reply)
    headers = msg.headers
    return Delivery(
        stream=consumer.stream,
        sequence=position.stream_sequence,
        consumer=consumer.name,
        subject=msg.subject,
        attempt=position.delivered,
        time=moment_of(position),
        pending=position.pending,
        message_id=headers.get(MESSAGE_ID_HEADER) if headers is not None else None,
    )


async def undecoded(message: NatsMessage) -> NatsMessage:
    """Leave decoding to our own code: a FastStream decoder's error would skip the ack policy."""
    return message
