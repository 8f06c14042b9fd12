"""A supervised loop: restarted with backoff when it fails, and visible in readiness while it does.

A `Corrupt` error is not retried: bytes that do not verify stop the service, for an operator.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from chancery.kernel.errors import ChanceryError, Corrupt
from chancery.runtime.logging import describe, get_logger
from chancery.runtime.metrics import Metrics

BACKOFF_S_FIRST: Final = 0.2
BACKOFF_S_MAX: Final = 5.0
HEALTHY_AFTER_S: Final = 1.0

_log = get_logger("chancery.runtime")


@dataclass(slots=True)
class Background:
    """Runs `factory` again and again; `reason` says why it is not healthy, None when it is.

    One that returns is done and stays healthy.
    """

    name: str
    factory: Callable[[], Awaitable[None]]
    metrics: Metrics
    reason: str | None = None

    async def supervise(self) -> None:
        """Run until it returns.

        Raises:
            Corrupt: as the loop raised it.
        """
        delay_s = BACKOFF_S_FIRST
        while True:
            began = time.monotonic()
            error = await self._run_once()
            if error is None:
                return
            if time.monotonic() - began > BACKOFF_S_MAX:
                delay_s = BACKOFF_S_FIRST
            self.reason = error.detail if isinstance(error, ChanceryError) else "it failed"
            self.metrics.restarts.labels(self.name).inc()
            _log.warning("background loop failed", name=self.name, **describe(error))
            await asyncio.sleep(delay_s)
            delay_s = min(BACKOFF_S_MAX, delay_s * 2)

    async def _run_once(self) -> Exception | None:
        """Return how one run ended; one that survives the first second counts as healthy."""
        async with asyncio.TaskGroup() as group:
            recovery = group.create_task(self._recover())
            try:
                await self.factory()
            except Corrupt as error:
                failure: Exception | None = error
            except Exception as error:  # noqa: BLE001 - the chassis restarts every failure.
                failure = error
            else:
                failure = None
            finally:
                recovery.cancel()
        if isinstance(failure, Corrupt):
            raise failure
        if failure is None:
            self.reason = None
        return failure

    async def _recover(self) -> None:
        await asyncio.sleep(HEALTHY_AFTER_S)
        self.reason = None
