"""The HTTP server of a service: open requests finish, a taken port is refused by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chancery.runtime.health import Receive, Scope, Send
from chancery.runtime.http import CLOSING_POLL_S, PortInUse, bound_socket, serving
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


async def test_nothing_wakes_a_server_that_is_asked_nothing_and_it_ends_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    set_timer, delays = loop.call_later, list[float]()

    def noted(delay: float, *arguments: Any, **named: Any) -> asyncio.TimerHandle:
        delays.append(delay)
        return set_timer(delay, *arguments, **named)

    async def empty(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    monkeypatch.setattr(loop, "call_later", noted)
    async with serving(empty, host="127.0.0.1", port=0) as port:
        assert await asyncio.to_thread(get, port, "/") == (204, "")
        running = list(delays)

    assert running == []
    assert delays == [CLOSING_POLL_S]


async def test_a_request_that_takes_longer_than_closing_may_is_cut_off() -> None:
    begun, cut_off = asyncio.Event(), asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut_off.set()
            raise

    async with serving(endless, host="127.0.0.1", port=0, close_timeout_s=0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(begun.wait(), WITHIN_S)

    await asyncio.wait_for(cut_off.wait(), WITHIN_S)
    assert b"200" not in await reader.read()
    writer.close()


def test_a_taken_port_is_refused_by_its_number() -> None:
    with bound_socket("127.0.0.1", 0) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(PortInUse) as caught, bound_socket("127.0.0.1", port):
            pass

    assert str(port) in caught.value.detail
