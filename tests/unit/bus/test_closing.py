"""Closing a connection ends whatever it began, though the driver's libraries swallow that once."""

from __future__ import annotations

import asyncio

import pytest
from nats.aio.client import Client

from chancery.bus import connection
from chancery.bus.connection import close_client


class Reconnecting(Client):
    """A client whose server is away: the end of its attempts is swallowed so many times."""

    def __init__(self, swallowed: int) -> None:
        super().__init__()
        self.swallowed = swallowed
        self.began = asyncio.Event()

    async def attempt(self) -> None:
        """Attempt for ever, as the driver does with `max_reconnect_attempts` -1."""
        while True:
            self.began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.swallowed -= 1
                if self.swallowed < 0:
                    raise

    def begin(self, group: asyncio.TaskGroup) -> asyncio.Task[None]:
        """Begin to attempt; return the task that does."""
        self._reconnection_task = group.create_task(self.attempt())
        return self._reconnection_task

    async def close(self) -> None:
        """Cancel the attempts once, as the driver does."""
        assert self._reconnection_task is not None
        self._reconnection_task.cancel()
        await asyncio.wait({self._reconnection_task}, timeout=0.01)


@pytest.mark.parametrize("swallowed", [0, 1, 3])
async def test_a_reconnection_ends_however_often_its_end_is_swallowed(
    monkeypatch: pytest.MonkeyPatch, swallowed: int
) -> None:
    monkeypatch.setattr(connection, "CANCEL_AGAIN_S", 0.01)
    client = Reconnecting(swallowed)

    async with asyncio.TaskGroup() as group:
        attempting = client.begin(group)
        await client.began.wait()
        await close_client(client)

        assert attempting.cancelled()
    assert client.swallowed == -1
