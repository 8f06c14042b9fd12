"""A service as its own process, started by its path.

It handles cancelled runs slowly, and appends a line per begun and finished run to the file named by
its settings. Where it has a database, it begins with a connection to it.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from chancery.events.envelope import Event
from chancery.kernel.errors import Corrupt
from chancery.runtime.delivery import Delivery
from chancery.runtime.process import start
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.store.pool import PoolLimits, open_pool
from tests.integration.runtime.parts import CANCELLED, MemoryParking

PATIENT = PoolLimits(connect_timeout_s=600.0)


class Settings(ServiceSettings):
    """Where to write, how slow to be, and whether to find a corrupt log."""

    output: Path
    work_s: float = 0.0
    corrupt: bool = False


async def application(settings: Settings) -> None:
    """Run until told to stop."""
    service = Service("release", settings)

    async def handle(event: Event, delivery: Delivery) -> None:
        _append(settings.output, f"begun {event.envelope.subject} {delivery.attempt}")
        over = asyncio.Event()
        asyncio.get_running_loop().call_later(settings.work_s, over.set)
        await over.wait()
        _append(settings.output, f"done {event.envelope.subject} {delivery.attempt}")

    async def follow() -> None:
        if settings.corrupt:
            message = "the log regressed"
            raise Corrupt(message, code="log_regressed")
        await asyncio.Event().wait()

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(service.open())
        if settings.postgres_dsn is not None:
            dsn = settings.require_dsn()
            await stack.enter_async_context(await open_pool(dsn, name="small", limits=PATIENT))
        service.worker(CANCELLED, handle, parking=MemoryParking(), workers=2)
        service.background("projection", follow)
        await service.run()


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(start("release", Settings, application))
