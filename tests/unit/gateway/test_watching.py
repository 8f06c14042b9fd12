"""What is kept of a request: a line with ids when it was refused, and its time by route."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Generator, Mapping

import pytest
import structlog

from chancery.events import queries
from chancery.kernel.errors import NotFound
from chancery.runtime.logging import configure_logging
from tests.unit.gateway.fakes import TOKEN, World

CANARY = "quagmire7741"
SOURCES = f"/v1/workspaces/{CANARY}/sources"
TEMPLATE = "/v1/workspaces/{ws}/sources"
SOURCE_QUERY = "query.release.source.v1"


class Bug(Exception):
    """What nobody expects, with content in its text."""


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def stream() -> Generator[io.StringIO]:
    """Yield what the gateway logs; the root logger is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    configure_logging("gateway", "info", written)
    yield written
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def lines(stream: io.StringIO) -> list[Mapping[str, object]]:
    every: list[Mapping[str, object]] = [
        json.loads(line) for line in stream.getvalue().splitlines()
    ]
    # The client of these tests writes lines of its own.
    return [line for line in every if line["logger"] != "httpx"]


async def test_each_refused_request_leaves_one_line_that_its_trace_finds(
    world: World, stream: io.StringIO
) -> None:
    world.owners.answers[SOURCE_QUERY] = NotFound(f"no {CANARY}", code="source_not_found")

    async with world.client() as client:
        response = await client.get(f"{SOURCES}/{CANARY}")

    (line,) = lines(stream)
    told = ("event", "level", "method", "route", "status", "code", "tenant", "principal")
    assert [line[name] for name in told] == [
        "request refused", "info", "GET", f"{TEMPLATE}/{{source}}", 404, "source_not_found",
        "default", "ada",
    ]  # fmt: skip
    assert line["trace_id"] == response.json()["trace_id"]


@pytest.mark.req("KO-2")
async def test_no_line_repeats_what_was_sent_or_asked_for(
    world: World, stream: io.StringIO
) -> None:
    secret = TOKEN.rpartition(".")[2]
    unknown = {CANARY: CANARY, "title": [CANARY], "visibility": CANARY}

    async with world.client() as client:
        responses = [
            await client.put(f"{SOURCES}/s", json=unknown),
            await client.put(f"{SOURCES}/{CANARY}.x", json={"title": CANARY}),
            await client.put(f"{SOURCES}/s", content=f"{{{CANARY}"),
            await client.post(
                f"{SOURCES}/s/revisions", content=CANARY, headers={"Content-Type": CANARY}
            ),
            await client.get(f"/v1/{CANARY}?{CANARY}={CANARY}"),
            await client.request(CANARY.upper(), SOURCES),
            await client.get(SOURCES, headers={"Authorization": f"Bearer {CANARY}"}),
            await client.get(SOURCES, headers={"Idempotency-Key": f"{CANARY} {CANARY}"}),
            await client.get(f"{SOURCES}/s"),
        ]

    found = lines(stream)
    statuses = [line["status"] for line in found]
    assert statuses == [each.status_code for each in responses]
    assert statuses == [422, 422, 415, 503, 404, 405, 401, 422, 503]
    assert [line["principal"] for line in found if line["status"] != 401] == ["ada"] * 8
    assert [word for word in (CANARY, secret) if word.lower() in str(found).lower()] == []


async def test_a_bug_leaves_one_line_with_its_places_and_nothing_of_its_text(
    world: World, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Bug(CANARY)

    monkeypatch.setattr(type(world.owners), "ask", fail)

    async with world.client() as client:
        response = await client.get(f"{SOURCES}/s")

    (line,) = lines(stream)
    told = [line[name] for name in ("event", "level", "status", "code", "error_type")]
    assert told == ["request failed", "error", 500, "internal", "Bug"]
    assert line["trace_id"] == response.json()["trace_id"]
    assert line["places"]
    assert CANARY not in str(line)


async def test_requests_are_counted_by_route_and_status_and_never_by_id(
    world: World, stream: io.StringIO
) -> None:
    world.owners.answers["query.release.sources.v1"] = queries.ResourceList(resources=())

    async with world.client() as client:
        await client.get(SOURCES)
        await client.get(SOURCES)
        await client.get(f"{SOURCES}/s")
        await client.get(f"/v1/{CANARY}")
        numbers = (await client.get("/metrics")).text

    name = "chancery_http_request_seconds_count"
    assert f'{name}{{method="GET",route="{TEMPLATE}",status="200"}} 2.0' in numbers
    assert f'{name}{{method="GET",route="{TEMPLATE}/{{source}}",status="503"}} 1.0' in numbers
    assert f'{name}{{method="GET",route="unknown",status="404"}} 1.0' in numbers
    assert CANARY not in numbers
    # A request that was served leaves no line.
    assert len(lines(stream)) == 2
