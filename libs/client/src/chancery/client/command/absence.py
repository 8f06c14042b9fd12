"""A server that goes away while many files are on their way: waited for, then given up once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

from chancery.client.errors import ProblemError, Unreachable
from chancery.kernel.errors import ChanceryError, Unavailable

PATIENCE_S: Final = 15.0
"""How long a server may be away in the middle of the work; a restarted one is back by then."""

_PAUSE_S: Final = 0.5
_AWAY: Final = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)


Doing = Literal["sending", "looking"]
"""A server may answer one and not the other, when only a part of it is away."""


class ServerLost(Unavailable):
    """The server did not come back; whatever is left would fail for the same reason."""

    code = "server_lost"


def is_away(error: ChanceryError) -> bool:
    """Tell whether the server cannot answer now, whatever is asked for.

    A fault without any reason is such an answer: a server that is being ended gives one.
    """
    if isinstance(error, ProblemError):
        is_unexplained = error.code == f"http_{HTTPStatus.INTERNAL_SERVER_ERROR.value}"
        return error.status in _AWAY or is_unexplained
    return isinstance(error, Unreachable)


@dataclass(slots=True)
class Absence:
    """Since when the server has been away; all that is on its way shares one patience.

    `tell` hears of it once each time that it goes away.
    """

    tell: Callable[[str], None]
    patience_s: float = PATIENCE_S
    _since: dict[Doing, float] = field(default_factory=dict[Doing, float])

    def note(self, doing: Doing, error: ChanceryError) -> None:
        """Hear that a request was not answered.

        Raises:
            ServerLost: that is so for longer than the patience.
        """
        if not self._since:
            self.tell(f"{error.detail} (trying again for {self.patience_s:.0f} s)")
        since = self._since.setdefault(doing, time.monotonic())
        if time.monotonic() - since > self.patience_s:
            raise ServerLost(error.detail) from error

    def ended(self, doing: Doing) -> None:
        """Hear that a request was answered."""
        self._since.pop(doing, None)

    async def wait(self, doing: Doing, error: ChanceryError) -> None:
        """Hear the same as `note`, and wait until it is worth another try."""
        self.note(doing, error)
        await asyncio.sleep(min(_PAUSE_S, self.patience_s))
