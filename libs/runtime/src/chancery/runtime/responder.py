"""A responder: answers one request subject, many requests at a time, with a typed reply.

Every request gets a reply: an answer, the refusal that the handler raised, or, for a bug, a fixed
"internal" failure that names the trace and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from faststream import AckPolicy
from opentelemetry.trace import SpanKind
from pydantic import ValidationError
from structlog.contextvars import bound_contextvars

from chancery.bus.connection import translate_errors
from chancery.events.requests import Failure, Message, Request, reply_type, request_type
from chancery.kernel.errors import ChanceryError, Rejected, TooLarge, Unavailable
from chancery.runtime import telemetry
from chancery.runtime.acking import undecoded
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.metrics import Metrics
from chancery.runtime.opening import Opening
from chancery.runtime.sentences import first_misfit, sentence_of

if TYPE_CHECKING:
    from faststream.nats import NatsBroker, NatsMessage
    from faststream.nats.subscriber.usecases import LogicSubscriber
    from nats.aio.subscription import Subscription

CONCURRENCY: Final = 32
QUIET_POLLS: Final = 3
POLL_S: Final = 0.01

BodyT = TypeVar("BodyT", bound=Message)
AnswerT = TypeVar("AnswerT", bound=Message)

_log = get_logger("chancery.runtime")


class InvalidRequest(Rejected):
    """The request does not fit its model; `field` says where."""

    code = "invalid_request"


@dataclass(slots=True)
class Responder(Generic[BodyT, AnswerT]):
    """Answers `subject` as a member of the queue group of its service.

    What arrives before the `opening` waits for it: an answer shows that the whole service is up.
    """

    service: str
    subject: str
    body_type: type[BodyT]
    handler: Callable[[Request[BodyT]], Awaitable[AnswerT]]
    metrics: Metrics
    opening: Opening
    concurrency: int = CONCURRENCY
    running: int = 0
    _subscriber: LogicSubscriber[Any] | None = field(default=None, repr=False)

    async def start(self, broker: NatsBroker) -> None:
        """Begin to answer."""
        subscriber = broker.subscriber(
            self.subject,
            queue=self.service,
            max_workers=self.concurrency,
            ack_policy=AckPolicy.MANUAL,
            decoder=undecoded,
            no_reply=True,
        )
        subscriber(self._respond)
        with translate_errors():
            await subscriber.start()
        self._subscriber = subscriber

    async def finish(self) -> None:
        """Take no further request; return when those that had arrived are answered."""
        subscriber = self._subscriber
        if subscriber is None:
            return
        subscription, subscriber.subscription = _driver_subscription(subscriber), None
        if subscription is not None:
            with translate_errors():
                await subscription.drain()
        await self._wait_until_quiet()

    async def answer(self, data: bytes) -> bytes:
        """Return the reply to a request's bytes; never raises but for a cancellation."""
        began = time.perf_counter()
        outcome = "answered"
        try:
            reply = await self._answer_in_span(data)
        except ChanceryError as error:
            outcome = error.code
            reply = _failure(error)
        except Exception as error:  # noqa: BLE001 - a bug must not leave the caller waiting.
            outcome = "internal"
            reply = _failure(self._internal(error))
        self.metrics.requests.labels(self.subject, outcome).inc()
        self.metrics.request_seconds.labels(self.subject).observe(time.perf_counter() - began)
        return reply

    async def _respond(self, message: NatsMessage) -> None:
        self.running += 1
        try:
            await self.opening.wait()
            reply = await self.answer(message.body)
            try:
                with translate_errors():
                    await message.raw_message.respond(reply)
            except TooLarge as error:
                with translate_errors():
                    await message.raw_message.respond(_failure(error))
        except Unavailable as error:
            _log.warning("reply could not be sent", subject=self.subject, **describe(error))
        finally:
            self.running -= 1

    async def _answer_in_span(self, data: bytes) -> bytes:
        request = parse_request(data, self.body_type)
        ids: dict[str, telemetry.Attribute] = {
            "chancery.tenant": request.caller.tenant,
            "chancery.principal": request.caller.principal,
        }
        with (
            telemetry.span(
                f"{telemetry.ANSWER} {self.subject}",
                parent=request.traceparent,
                kind=SpanKind.SERVER,
                ids=ids,
            ),
            bound_contextvars(tenant=request.caller.tenant, subject=self.subject),
        ):
            try:
                answer = await self.handler(request)
            except ChanceryError:
                raise
            except Exception as error:
                raise self._internal(error) from error
            return reply_type(type(answer))(body=answer).model_dump_json().encode()

    def _internal(self, error: Exception) -> Unavailable:
        trace_id = telemetry.current_trace_id()
        _log.error("request failed", subject=self.subject, **describe(error))
        message = f"an internal error; it is logged under trace {trace_id}"
        return Unavailable(message, code="internal")

    async def _wait_until_quiet(self) -> None:
        """Return when nothing runs for a few turns: FastStream does not show what it has queued."""
        quiet = 0
        while quiet <= QUIET_POLLS:
            await asyncio.sleep(POLL_S)
            quiet = quiet + 1 if self.running == 0 else 0


def parse_request(data: bytes, body_type: type[BodyT]) -> Request[BodyT]:
    """Return the request in `data`.

    Raises:
        InvalidRequest: naming the first field that does not fit, never its value.
    """
    try:
        return request_type(body_type).model_validate_json(data)
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> InvalidRequest:
    first = first_misfit(error)
    steps = [str(step) for step in first.loc]
    if steps[:1] == ["body"] and len(steps) > 1:
        steps = steps[1:]
    name = ".".join(steps)[:200] or None
    return InvalidRequest(f"{name or 'the request'}: {sentence_of(first)}"[:1000], field=name)


def _failure(error: ChanceryError) -> bytes:
    return reply_type(Message)(failure=Failure.of(error)).model_dump_json().encode()


def _driver_subscription(subscriber: LogicSubscriber[Any]) -> Subscription | None:
    found: Any = subscriber.subscription
    return found
