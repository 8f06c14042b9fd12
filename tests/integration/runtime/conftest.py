"""A provisioned server with short waits, and a service in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from chancery.bus import provision
from chancery.bus.connection import Connection, connect
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.nats import NatsAccess
from tests.integration.runtime.parts import ACK_WAIT_S


@pytest.fixture
async def connection(nats_url: str) -> AsyncGenerator[Connection]:
    """Yield a connection to a server with the topology and a short `ack_wait`."""
    async with connect(nats_url, name="tests") as opened:
        await provision.apply(opened, provision.Plan(ack_wait_s=ACK_WAIT_S))
        yield opened


@pytest.fixture
def settings(nats_url: str) -> ServiceSettings:
    """Return what a service needs to join."""
    return ServiceSettings(nats_url=nats_url, stop_s=5)


@pytest.fixture
def own_login(nats_access: NatsAccess) -> ServiceSettings:
    """Return what release needs to join with its own login, across the border of its account."""
    return ServiceSettings(
        nats_url=nats_access.service_urls["release"],
        nats_api_prefix=nats_access.api_prefix,
        stop_s=5,
    )
