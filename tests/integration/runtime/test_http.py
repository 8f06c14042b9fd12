"""The HTTP server of a service: open requests finish, a taken port is refused by name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chancery.runtime.health import Receive, Scope, Send
from chancery.runtime.http import PortInUse, bound_socket, serving
from chancery.testkit.waiting import WITHIN_S, eventually
from tests.integration.runtime.parts import get

pytestmark = pytest.mark.integration


async def test_an_open_request_finishes_when_the_block_is_cancelled(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    path = tmp_path / "port"

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        begun.set()
        await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"whole"})

    async def serve() -> None:
        async with serving(slow, host="127.0.0.1", port=0, port_file=path):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        server = group.create_task(serve())
        await eventually(path.exists)
        answer = group.create_task(asyncio.to_thread(get, int(path.read_text("ascii")), "/"))
        await asyncio.wait_for(begun.wait(), WITHIN_S)
        server.cancel()
        go.set()

    assert answer.result() == (200, "whole")
    assert server.cancelled()


def test_a_taken_port_is_refused_by_its_number() -> None:
    with bound_socket("127.0.0.1", 0) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(PortInUse) as caught, bound_socket("127.0.0.1", port):
            pass

    assert str(port) in caught.value.detail
