"""What the tests of the chassis have in common: events, a parking in memory, a running service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.error import HTTPError
from urllib.request import urlopen

from chancery.bus.connection import Connection
from chancery.bus.consumers import consumer_state
from chancery.bus.publish import publish
from chancery.events import topology
from chancery.events.envelope import Envelope, Event
from chancery.events.run import RunCancelled
from chancery.kernel.errors import Unavailable
from chancery.kernel.ids import random_id
from chancery.runtime.parking import ParkedMessage
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.waiting import eventually

ACK_WAIT_S = 3
"""Short enough to be outlasted, and longer than a process stands still on a busy machine."""

CANCELLED = topology.consumer(topology.RELEASE_CANCELLED)


def cancelled(run_id: str = "r1", traceparent: str | None = None) -> Event:
    """Return a fresh event that the consumer CANCELLED gets."""
    data = RunCancelled(run_id=run_id, credential_id="c1")
    envelope = Envelope(
        id=random_id(),
        source="/chancery/gateway",
        type=data.TYPE,
        subject=run_id,
        time=datetime(2026, 1, 2, tzinfo=UTC),
        tenant="t1",
        traceparent=traceparent,
    )
    return Event(envelope=envelope, data=data)


async def send(connection: Connection, event: Event) -> int:
    """Publish an event of the helper above and return its sequence."""
    subject = topology.run_subject(event.tenant, event.envelope.subject, "cancelled")
    return (await publish(connection, subject, event)).sequence


async def is_settled(connection: Connection) -> bool:
    """Tell whether nothing waits for CANCELLED and nothing of it is in work."""
    state = await consumer_state(connection, CANCELLED)
    return state.pending == 0 and state.ack_pending == 0


@dataclass
class MemoryParking:
    """Keeps what was parked; fails the first `failures` times."""

    failures: int = 0
    parked: list[ParkedMessage] = field(default_factory=list[ParkedMessage])

    async def park(self, message: ParkedMessage) -> None:
        """Keep the message."""
        if self.failures > 0:
            self.failures -= 1
            text = "the database is away"
            raise Unavailable(text)
        self.parked.append(message)


@asynccontextmanager
async def running(
    settings: ServiceSettings, register: Callable[[Service], None]
) -> AsyncGenerator[Service]:
    """Run a release service with the registered parts until the end of the block."""
    service = Service("release", settings)
    async with service.open():
        register(service)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(service.run())
            try:
                await eventually(lambda: service.port is not None or task.done())
                yield service
            finally:
                service.stop()


async def served(connection: Connection, subject: str) -> None:
    """Wait until somebody listens on `subject`: a service does so some time after its port is open.

    What is sent is no request, so that no handler sees it.
    """

    async def is_served() -> bool:
        try:
            await connection.request(subject, b"", timeout_s=20)
        except Unavailable:
            return False
        return True

    await eventually(is_served)


async def ready(service: Service) -> tuple[bool, dict[str, str | None]]:
    """Ask /readyz and return whether it is green, and the reason of each check."""
    status, body = await asyncio.to_thread(get, service.port or 0, "/readyz")
    answer = json.loads(body)
    assert answer["ready"] is (status == 200)
    return answer["ready"], {item["name"]: item["reason"] for item in answer["checks"]}


async def is_ready(service: Service) -> bool:
    """Tell whether /readyz is green."""
    return (await ready(service))[0]


def get(port: int, path: str) -> tuple[int, str]:
    """Return status and body of a GET on the management port."""
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
