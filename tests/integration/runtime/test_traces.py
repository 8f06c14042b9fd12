"""Traces across the bus: from an event to the span of its handler, and out to a collector."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from chancery.bus.connection import Connection
from chancery.events.envelope import Event
from chancery.runtime import telemetry
from chancery.runtime.delivery import Delivery
from chancery.runtime.service import Service
from chancery.runtime.settings import ServiceSettings
from chancery.testkit.waiting import eventually
from tests.integration.runtime.parts import CANCELLED, MemoryParking, cancelled, running, send

pytestmark = pytest.mark.integration

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@contextmanager
def collector() -> Generator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield the endpoint of an OTLP collector and what it got."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def handle_one(connection: Connection, settings: ServiceSettings) -> str | None:
    """Run one event with a traceparent through a worker; return what the handler would send on."""
    inside: list[str | None] = []

    async def handle(event: Event, delivery: Delivery) -> None:
        del event, delivery
        inside.append(telemetry.current_traceparent())

    def register(service: Service) -> None:
        service.worker(CANCELLED, handle, parking=MemoryParking(), workers=2)

    async with running(settings, register):
        await send(connection, cancelled("r1", PARENT))
        await eventually(lambda: inside)
    return inside[0]


@pytest.mark.req("EV-3")
async def test_a_handler_continues_the_trace_of_its_event(
    connection: Connection, settings: ServiceSettings, tmp_path: Path
) -> None:
    path = tmp_path / "spans.jsonl"

    inside = await handle_one(connection, settings.model_copy(update={"spans_file": path}))

    (line,) = path.read_text("utf-8").splitlines()
    fields = json.loads(line)
    _, trace_id, parent_id, _ = PARENT.split("-")
    assert (fields["trace_id"], fields["parent_id"]) == (trace_id, parent_id)
    assert fields["name"] == f"handle {CANCELLED.name}"
    assert fields["attributes"]["chancery.tenant"] == "t1"
    assert inside is not None
    assert inside.split("-")[1:3] == [trace_id, fields["span_id"]]


async def test_spans_reach_the_configured_collector(
    connection: Connection, settings: ServiceSettings
) -> None:
    with collector() as (endpoint, got):
        await handle_one(connection, settings.model_copy(update={"otlp_endpoint": endpoint}))
        await eventually(lambda: asyncio.to_thread(lambda: got))

    path, body = got[0]
    assert path == "/v1/traces"
    assert bytes.fromhex(PARENT.split("-")[1]) in body
    assert b"chancery-release" in body
