"""Filters at the edge: what is not supported is refused by its name before any owner is asked."""

from __future__ import annotations

import pytest

from chancery.events import commands
from chancery.events.run import RunRequested
from chancery.kernel.clock import SystemClock
from tests.unit.gateway.fakes import World

SOURCES = "/v1/workspaces/w/sources"


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.req("CR-11")
@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"colour": "red"}, "filters.colour"),
        ({"authority": ["normative"], "region": "north"}, "filters.region"),
        ({"authority": ["official"]}, "filters.authority.0"),
        ({"authority": "normative"}, "filters.authority"),
        ({"date_from": "2024-02-30"}, "filters.date_from"),
        ({"date_to": "yesterday"}, "filters.date_to"),
        (["authority"], "filters"),
    ],
)
async def test_a_filter_that_is_not_supported_is_refused_by_its_name(
    world: World, filters: object, field: str
) -> None:
    body = {"question": "Who?", "filters": filters}
    async with world.client() as client:
        response = await client.post("/v1/conversations/c/messages", json=body)

    assert (response.status_code, response.json()["field"]) == (422, field)
    assert world.owners.asked == []


@pytest.mark.req("CR-11")
async def test_filters_reach_the_run_as_they_were_sent(world: World) -> None:
    world.owners.answers["command.release.post-message.v1"] = commands.MessagePosted(
        run_id="r1",
        message_id="m1",
        message=1,
        workspace_id="w",
        requested_at=SystemClock().now(),
    )
    sent = {"authority": ["normative"], "date_from": "2024-01-01", "date_to": None}

    async with world.client() as client:
        response = await client.post(
            "/v1/conversations/c/messages", json={"question": "Who?", "filters": sent}
        )

    assert response.status_code == 202
    (announced,) = world.announcements.events.values()
    assert isinstance(announced.data, RunRequested)
    assert announced.data.filters.model_dump(mode="json") == sent
    asked = world.owners.asked[0][1].body
    assert isinstance(asked, commands.PostMessage)
    assert asked.filters == announced.data.filters


@pytest.mark.req("CR-11")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{SOURCES}?visibility=private"),
        ("GET", "/v1/runs/r/answer?lang=de"),
        ("GET", "/v1/workspaces/w/datasets/d/schema?columns=id"),
        ("POST", "/v1/workspaces/w/query?limit=1"),
        ("GET", f"{SOURCES}?visibility="),
    ],
)
async def test_a_query_parameter_that_is_not_taken_is_refused_by_its_name(
    world: World, method: str, path: str
) -> None:
    async with world.client() as client:
        response = await client.request(method, path, json={"sql": "SELECT 1"})

    told = response.json()
    assert (response.status_code, told["code"]) == (422, "unknown_parameter")
    assert told["field"] == path.partition("?")[2].partition("=")[0]
    assert world.owners.asked == []


async def test_a_misspelt_query_parameter_is_told_with_the_one_that_was_meant(world: World) -> None:
    async with world.client() as client:
        near = await client.post("/v1/workspaces/w/datasets/d/snapshots?mod=append")
        far = await client.post("/v1/workspaces/w/datasets/d/snapshots?colour=red")

    assert near.json()["detail"].endswith("parameter; did you mean mode?")
    assert far.json()["detail"].endswith("parameter")


async def test_what_is_no_route_of_a_caller_takes_any_parameter(world: World) -> None:
    async with world.client() as client:
        response = await client.get("/healthz?probe=1")

    assert response.status_code == 200


@pytest.mark.parametrize("query", ["restore=true&restore=false", "restore=true&restore=true"])
async def test_a_query_parameter_that_is_there_twice_is_refused_by_its_name(
    world: World, query: str
) -> None:
    async with world.client() as client:
        response = await client.post(
            f"{SOURCES}/s/revisions?{query}", content=b"x", headers={"Content-Type": "text/plain"}
        )

    told = response.json()
    assert (response.status_code, told["code"]) == (422, "repeated_parameter")
    assert told["field"] == "restore"
    assert world.owners.asked == []
