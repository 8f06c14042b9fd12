"""The connection to NATS: reconnects for ever, and every failure is one of our four kinds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from pydantic import BaseModel, ValidationError

from chancery.kernel.canonical import Json, canonical_bytes
from chancery.kernel.errors import Corrupt, TooLarge, Unavailable
from chancery.kernel.ids import random_id

if TYPE_CHECKING:
    from types import TracebackType

    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

API_PREFIX: Final = "$JS.API"
"""Where the JetStream API answers; an account may import it under another prefix."""

CONNECT_TIMEOUT_S: Final = 5.0
RECONNECT_WAIT_S: Final = 0.25
CLOSE_TIMEOUT_S: Final = 5.0
CANCEL_AGAIN_S: Final = 0.1

NO_RESPONDERS: Final = "no_responders"
"""The code of `Unavailable` where nobody listens."""

_ERROR_KEY: Final = b'"error"'
"""Stands in every refusal: the server writes its keys without escapes."""

_log = logging.getLogger("chancery.bus")

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class ApiRefused(Unavailable):
    """JetStream answered with an error; `status` and `error_code` are the server's."""

    code = "bus_refused"

    def __init__(self, detail: str, *, status: int, error_code: int) -> None:
        """Keep the server's numbers; its text is not shown to callers."""
        super().__init__(detail)
        self.status = status
        self.error_code = error_code

    @property
    def is_missing(self) -> bool:
        """Tell whether the stream, consumer or message does not exist."""
        return self.status == 404  # noqa: PLR2004 - HTTP's "not found"


class _ErrorBody(BaseModel):
    code: int = 500
    err_code: int = 0
    description: str = ""


class _MaybeError(BaseModel):
    error: _ErrorBody | None = None


class _Subscribes(Protocol):
    """The part of the driver whose own types are incomplete."""

    async def subscribe(
        self, subject: str, *, cb: Callable[[Msg], Awaitable[None]]
    ) -> Subscription: ...


async def _subscribe(
    client: _Subscribes, subject: str, receive: Callable[[Msg], Awaitable[None]]
) -> Subscription:
    return await client.subscribe(subject, cb=receive)


@dataclass(slots=True)
class Connection:
    """A connection and the account's JetStream API.

    `generation` counts the reconnects, `published` the acknowledged messages.
    """

    client: Client
    api_prefix: str = API_PREFIX
    generation: int = 0
    published: int = 0

    @property
    def jetstream(self) -> JetStreamContext:
        """Return the driver's own JetStream context, for what this library does not wrap."""
        return JetStreamContext(self.client, prefix=self.api_prefix)

    @property
    def is_connected(self) -> bool:
        """Tell whether the socket is up; says nothing about streams or consumers."""
        return self.client.is_connected

    async def request(
        self,
        subject: str,
        payload: bytes,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> Msg:
        """Send `payload` and return the reply.

        Raises:
            Unavailable: nobody listens, nobody answered in time, or the connection is away.
            TooLarge: the server's limit on one message was exceeded.
        """
        with translate_errors():
            return await self.client.request(
                subject,
                payload,
                timeout=timeout_s,
                headers=dict(headers) if headers is not None else None,
            )

    async def send(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Publish on core NATS without an acknowledgement: for nudges, never for events."""
        with translate_errors():
            await self.client.publish(
                subject, payload, headers=dict(headers) if headers is not None else None
            )

    async def subscribe(
        self, subject: str, receive: Callable[[Msg], Awaitable[None]]
    ) -> Subscription:
        """Hand every message on `subject` to `receive`, one after the other, on core NATS."""
        with translate_errors():
            return await _subscribe(self.client, subject, receive)

    async def settle(self, *, timeout_s: float) -> None:
        """Return when the server has taken what was sent before, subscriptions among it.

        Raises:
            Unavailable: it did not say so in time, or the connection is away.
        """
        # A request that nobody can answer is refused in its turn. The driver's own `flush` must not
        # be cut off: its late answer ends the loop that reads.
        try:
            await self.request(f"settle.{random_id()}", b"", timeout_s=timeout_s)
        except Unavailable as error:
            if error.code != NO_RESPONDERS:
                raise

    async def api(
        self,
        verb: str,
        body: Mapping[str, Json] | None,
        model: type[ReplyT],
        *,
        timeout_s: float = 5.0,
    ) -> ReplyT:
        """Ask the JetStream API, for example `STREAM.INFO.RUNS`, and parse its answer.

        Raises:
            ApiRefused: the server's own refusal.
            Unavailable: no answer in time.
        """
        payload = canonical_bytes(body) if body is not None else b""
        reply = await self.request(f"{self.api_prefix}.{verb}", payload, timeout_s=timeout_s)
        return parse_reply(reply.data, model)


def parse_reply(data: bytes, model: type[ReplyT]) -> ReplyT:
    """Return the model in a reply of the server, or raise the refusal in it.

    Raises:
        ApiRefused: when the reply carries an error.
        Corrupt: when it is no reply that this build can read.
    """
    try:
        refused = _MaybeError.model_validate_json(data) if _ERROR_KEY in data else None
        if refused is None or refused.error is None:
            return model.model_validate_json(data)
    except ValidationError as invalid:
        message = "the NATS server sent a reply that this build cannot read"
        raise Corrupt(message, code="bus_reply") from invalid
    error = refused.error
    raise ApiRefused(error.description, status=error.code, error_code=error.err_code)


@asynccontextmanager
async def connect(
    url: str, *, name: str, api_prefix: str = API_PREFIX, timeout_s: float = CONNECT_TIMEOUT_S
) -> AsyncGenerator[Connection]:
    """Open a connection that shows as `name` on the server, and close it at the end.

    Raises:
        Unavailable: when no server accepts it within `timeout_s`.
    """
    client = Client()
    connection = Connection(client=client, api_prefix=api_prefix)

    async def count_reconnect() -> None:
        connection.generation += 1
        _log.info("reconnected to NATS")

    async def report_disconnect() -> None:
        if not client.is_closed:
            _log.warning("disconnected from NATS")

    try:
        with translate_errors():
            async with asyncio.timeout(timeout_s):
                await client.connect(
                    **connection_options(url, name=name),
                    reconnected_cb=count_reconnect,
                    disconnected_cb=report_disconnect,
                )
        yield connection
    finally:
        await close_client(client)


def connection_options(url: str, *, name: str) -> dict[str, Any]:
    """Return what every connection of this product asks of the driver."""
    return {
        "servers": url.split(","),
        "name": name,
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_WAIT_S,
        "connect_timeout": 2,
        "ping_interval": 10,
        "max_outstanding_pings": 2,
        "error_cb": _report,
    }


async def _report(error: Exception) -> None:
    _log.warning("NATS connection: %s", type(error).__name__)


async def close_client(client: Client) -> None:
    """Close a connection in whatever state it is; nothing of it runs afterwards."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await client.close()
    except (nats.errors.Error, OSError, TimeoutError) as error:
        _log.warning("closing the NATS connection: %s", type(error).__name__)
    await _end_reconnecting(client)


async def _end_reconnecting(client: Client) -> None:
    """Cancel what attempts to reconnect until it has ended.

    The driver cancels it once. A connection that is refused at that moment swallows it before
    Python 3.12 (`asyncio.wait_for`), and a task that goes on keeps its loop from ending.
    """
    attempting: asyncio.Task[None] | None = vars(client).get("_reconnection_task")
    while attempting is not None and not attempting.done():
        attempting.cancel()
        await asyncio.wait({attempting}, timeout=CANCEL_AGAIN_S)


def translate_errors() -> AbstractContextManager[None]:
    """Turn the driver's errors into ours; nothing of their text is kept.

    Before Python 3.12 `asyncio.wait_for`, which the driver uses, swallows a cancellation that comes
    together with its result; here it is raised after all, or the task would never end.
    """
    return _Translation()


class _Translation(AbstractContextManager[None]):
    """A class, since a generator costs each message more than its acknowledgement does."""

    __slots__ = ("_cancelling", "_task")

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        self._cancelling = self._task.cancelling() if self._task is not None else 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        del kind, traceback
        if self._task is not None and self._task.cancelling() > self._cancelling:
            raise asyncio.CancelledError
        if error is not None:
            _raise_translated(error)


def _raise_translated(error: BaseException) -> None:
    match error:
        case nats.errors.MaxPayloadError():
            message = "the message is larger than the NATS server accepts"
            raise TooLarge(message) from error
        case nats.errors.NoRespondersError():
            message = "nothing answers on this subject now"
            raise Unavailable(message, code=NO_RESPONDERS) from error
        case TimeoutError() | nats.errors.TimeoutError():
            message = "NATS did not answer in time"
            raise Unavailable(message, code="bus_timeout") from error
        case nats.errors.Error() | OSError():
            message = "the connection to NATS is away"
            raise Unavailable(message) from error
        case _:
            return
