"""A connection to a real server that has the topology, and messages to send."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from chancery.bus import provision
from chancery.bus.connection import Connection, connect


@pytest.fixture
async def bare(nats_url: str) -> AsyncGenerator[Connection]:
    """Yield a connection to a server without streams."""
    async with connect(nats_url, name="tests") as connection:
        yield connection


@pytest.fixture
async def connection(bare: Connection) -> Connection:
    """Return a connection to a server with the topology."""
    await provision.apply(bare, provision.Plan(ack_wait_s=2))
    return bare
