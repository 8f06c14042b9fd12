"""A body while it arrives: bounded in size and in time, hashed and verified on the way."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Message, Receive

from chancery.gateway.domain.digests import BodyDigest
from chancery.gateway.domain.sent_digests import SentDigests
from chancery.gateway.errors import SlowBody
from chancery.kernel.errors import TooLarge

PAUSE_MAX_S: Final = 20.0
"""How long a caller may be silent in the middle of a body."""

WITHIN_S: Final = 300.0
"""How long a whole body may take."""

GRACE_S: Final = 30.0
"""How long a body may take before its pace counts."""

BYTES_PER_S_MIN: Final = 16 * 1024
"""How fast a body has to arrive from then on, over all of its time."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How slowly a body may arrive; only the time in which we wait for the caller counts."""

    pause_max_s: float = PAUSE_MAX_S
    within_s: float = WITHIN_S
    grace_s: float = GRACE_S
    bytes_per_s_min: float = BYTES_PER_S_MIN

    def patience_s(self, received: int, waited_s: float) -> float:
        """Return how long to wait for the next piece, after `received` bytes in `waited_s`."""
        whole_s = min(self.within_s, self.grace_s + received / self.bytes_per_s_min)
        return min(self.pause_max_s, whole_s - waited_s)


USUAL_PACE: Final = Pace()


@dataclass(slots=True)
class Arrival:
    """What a request is received with: the server's own `receive`, and a body within its bounds."""

    receive: Receive
    bytes_max: int
    pace: Pace
    digest: BodyDigest
    sent: SentDigests = field(default_factory=SentDigests)
    received: int = 0
    is_whole: bool = False
    advice: str = ""
    _waited_s: float = 0.0

    async def __call__(self) -> Message:
        """Return the next message; one after the whole body is awaited without a bound.

        Raises:
            TooLarge: as soon as more has arrived than there may be.
            SlowBody: the caller is too slow.
            Rejected: code `digest_mismatch` with the last piece of a body that is another one than
                the caller says; whoever takes the pieces has to throw them away.
        """
        if self.is_whole:
            return await self.receive()
        message = await self._next()
        if message["type"] != "http.request":
            return message
        piece: bytes = message.get("body", b"")
        self.received += len(piece)
        if self.received > self.bytes_max:
            raise too_large(self.bytes_max, self.advice)
        self.digest.add(piece)
        self.sent.add(piece)
        self.is_whole = not message.get("more_body", False)
        if self.is_whole:
            self.sent.check()
        return message

    async def _next(self) -> Message:
        started = time.monotonic()
        try:
            async with asyncio.timeout(self.pace.patience_s(self.received, self._waited_s)):
                return await self.receive()
        except TimeoutError as error:
            message = "the body did not arrive in time; send it faster or in a smaller piece"
            raise SlowBody(message, field="body") from error
        finally:
            self._waited_s += time.monotonic() - started


def too_large(bytes_max: int, advice: str = "") -> TooLarge:
    """Return the refusal of a body of more than `bytes_max` bytes."""
    return TooLarge(f"the body must be at most {bytes_max:,} bytes{advice}", field="body")
