"""What a producer does with its login first: connect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from nats.aio.client import Client

from chancery.embedded.producers import Invitation


@asynccontextmanager
async def producer(
    invitation: Invitation, refused: list[str] | None = None
) -> AsyncGenerator[Client]:
    """Yield a producer's connection; what it may not do is told in `refused` and nowhere else."""

    async def note(error: Exception) -> None:
        if refused is not None:
            refused.append(str(error))

    client = Client()
    try:
        await client.connect(
            invitation.url,
            inbox_prefix=invitation.inbox_prefix.encode(),
            error_cb=note,
            allow_reconnect=False,
        )
        yield client
    finally:
        await client.close()
