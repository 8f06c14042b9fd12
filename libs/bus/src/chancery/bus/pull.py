"""Pull requests to one durable consumer, answered into one inbox, with a heartbeat.

The heartbeat is what tells an idle consumer from a dead one: while a request is open the server
says something at least every `HEARTBEAT_S`; silence means that the consumer, its leader or the
connection is gone (the driver's own `fetch` waits, or spins on "no responders", for ever).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from chancery.bus.connection import Connection, translate_errors
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import Unavailable

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

HEARTBEAT_S: Final = 1.0
SILENCE_S_MAX: Final = 3.5
DOUBT_S: Final = 0.5
"""How long after it was noticed a silence has to last while this process reads."""
EXPIRES_S: Final = 30.0

_TOKENS_SHORT: Final = 9
_TOKENS_LONG_EXTRA: Final = 2
_LAST_CONSUMER: Final = "Nats-Last-Consumer"
_STATUS_HEARTBEAT: Final = "100"
_STATUS_NO_RESPONDERS: Final = "503"
_GONE = ("consumer deleted", "stream deleted", "consumer is push based")


class ConsumerLost(Unavailable):
    """The consumer was deleted, or nothing was heard of it for longer than its heartbeat."""

    code = "consumer_lost"


class Position(NamedTuple):
    """What the reply subject of a delivered message says; `pending` still wait behind it."""

    delivered: int
    stream_sequence: int
    consumer_sequence: int
    timestamp_ns: int
    pending: int


def parse_position(reply: str) -> Position:
    """Return the position in `$JS.ACK.<stream>.<consumer>.<delivered>.<s>.<c>.<ns>.<pending>`.

    The longer form of a cluster has domain and account hash after `$JS.ACK`.

    Raises:
        ValueError: for any other subject.
    """
    tokens = reply.split(".")
    start = 4 if len(tokens) == _TOKENS_SHORT else 4 + _TOKENS_LONG_EXTRA
    if len(tokens) < start + 5 or tokens[1] != "ACK":
        message = "the reply subject of a delivered message is malformed"
        raise ValueError(message)
    return Position._make(map(int, tokens[start : start + 5]))


class PullInbox:
    """Where the answers to pull requests arrive; `outstanding` messages may still come.

    `sent` is the consumer's sequence of the last message that it has sent, here or elsewhere, as
    its last heartbeat said. Messages are bounded by what was requested. One task reads; `close`
    ends it.
    """

    __slots__ = (
        "_arrived", "_connection", "_doubted", "_gone", "_heard", "_inbox", "_messages",
        "_requests_subject", "_subscription", "outstanding", "sent",
    )  # fmt: skip

    def __init__(self, connection: Connection, stream: str, consumer: str) -> None:
        """Prepare; `open` subscribes."""
        self._connection = connection
        self._requests_subject = f"{connection.api_prefix}.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = connection.client.new_inbox()
        self._messages: deque[Msg] = deque()
        self._arrived = asyncio.Event()
        self._subscription: Subscription | None = None
        self._heard = time.monotonic()
        self._doubted: float | None = None
        self._gone: str | None = None
        self.outstanding = 0
        self.sent = 0

    async def open(self) -> None:
        """Subscribe to the inbox."""
        with translate_errors():
            self._subscription = await self._connection.subscribe(self._inbox, self._receive)
        self._heard = time.monotonic()

    async def request(self, batch: int, *, expires_s: float = EXPIRES_S) -> None:
        """Ask for up to `batch` further messages; they are sent as soon as they are stored."""
        body = canonical_bytes(
            {
                "batch": batch,
                "expires": int(expires_s * 1_000_000_000),
                "idle_heartbeat": int(min(HEARTBEAT_S, expires_s / 2.5) * 1_000_000_000),
            }
        )
        if self.outstanding == 0:
            self._heard = time.monotonic()  # The server may be silent while nothing is asked.
        self.outstanding += batch
        with translate_errors():
            await self._connection.client.publish(self._requests_subject, body, reply=self._inbox)

    async def wait(self, timeout_s: float) -> None:
        """Return when a message or status is there, or after `timeout_s`.

        Raises:
            ConsumerLost: the server said so, or was silent for `SILENCE_S_MAX`.
        """
        if not self._messages:
            self._arrived.clear()
            self._check()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._arrived.wait()
            except TimeoutError:
                self._check()

    @property
    def has_arrived(self) -> bool:
        """Tell whether `take` would return something."""
        return bool(self._messages)

    def take(self, limit: int | None = None) -> list[Msg]:
        """Return what has arrived, oldest first, at most `limit`."""
        count = len(self._messages) if limit is None else min(limit, len(self._messages))
        return [self._messages.popleft() for _ in range(count)]

    async def drain(self) -> None:
        """Stop new deliveries and wait until those that the server has sent are here."""
        if self._subscription is not None:
            subscription, self._subscription = self._subscription, None
            with translate_errors():
                async with asyncio.timeout(SILENCE_S_MAX):
                    await subscription.drain()

    async def close(self) -> None:
        """Unsubscribe; what has arrived and was not taken is dropped."""
        if self._subscription is not None and not self._connection.client.is_closed:
            subscription, self._subscription = self._subscription, None
            with translate_errors():
                await subscription.unsubscribe()
        self._messages.clear()

    def _check(self) -> None:
        if self._gone is not None:
            raise ConsumerLost(self._gone)
        now = time.monotonic()
        if now - self._heard <= SILENCE_S_MAX:
            self._doubted = None
        elif self._doubted is None:
            # Perhaps this process stood still: what was sent meanwhile waits in the socket.
            self._doubted = now
        elif now - self._doubted > DOUBT_S:
            message = "the consumer has been silent for longer than its heartbeat"
            raise ConsumerLost(message)

    async def _receive(self, msg: Msg) -> None:
        self._heard, self._doubted = time.monotonic(), None
        status = msg.headers.get("Status") if msg.headers is not None else None
        if status is None or msg.data:
            self.outstanding -= 1
            self._messages.append(msg)
        elif status == _STATUS_HEARTBEAT:
            sent = (msg.headers or {}).get(_LAST_CONSUMER, "")
            self.sent = int(sent) if sent.isdigit() else self.sent
            return
        else:
            self._end_request(status, msg)
        self._arrived.set()

    def _end_request(self, status: str, msg: Msg) -> None:
        headers = msg.headers or {}
        description = headers.get("Description", "").lower()
        if status == _STATUS_NO_RESPONDERS or description in _GONE:
            self._gone = "the consumer does not exist"
        left = headers.get("Nats-Pending-Messages", "")
        self.outstanding = max(0, self.outstanding - int(left)) if left.isdigit() else 0
