"""JSON bodies: what is wrong with one is told at a cost that does not grow with the body."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import pytest
from pydantic import JsonValue

from chancery.events.queries import Identity
from chancery.gateway import domain
from chancery.gateway.domain import json_bodies
from chancery.gateway.domain.json_bodies import NAMES_MAX, VALUES_MAX, check_json
from chancery.gateway.handlers import intake
from chancery.gateway.handlers.intake import UNPROVEN_BYTES
from chancery.kernel.canonical import canonical_bytes
from chancery.kernel.errors import Rejected
from tests.unit.events.lists import models_of, read_to_their_end
from tests.unit.gateway.fakes import World

SEARCH = "/v1/workspaces/w/search"


def a_list(size: int) -> JsonValue:
    """Return a value with so many values in it, itself among them."""
    found: list[JsonValue] = [0 for _ in range(size - 1)]
    return found


def objects(size: int) -> JsonValue:
    """Return such objects, of which each name counts as well."""
    found: list[JsonValue] = [{"name": 0} for _ in range(size // 3)]
    return found


def nested(size: int) -> JsonValue:
    """Return such objects within a list."""
    found: list[JsonValue] = [{} for _ in range(size - 1)]
    return found


@pytest.mark.parametrize("made", [a_list, objects, nested])
def test_more_names_and_values_than_any_body_needs_are_refused(
    made: Callable[[int], JsonValue],
) -> None:
    check_json(canonical_bytes(made(VALUES_MAX - 2)))

    with pytest.raises(Rejected) as refused:
        check_json(canonical_bytes(made(VALUES_MAX + 2)))

    assert (refused.value.code, refused.value.field) == ("too_many_values", "body")


async def test_a_body_of_wrong_values_is_refused_before_an_error_is_made_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_bodies, "VALUES_MAX", 10)
    world = World()

    async with world.client() as client:
        few = await client.post(SEARCH, json={"query": "pump", "sources": ["!"] * 5})
        many = await client.post(SEARCH, json={"query": "pump", "sources": ["!"] * 6})

    assert (few.status_code, few.json()["field"]) == (422, "sources.0")
    assert (many.status_code, many.json()["code"]) == (422, "too_many_values")
    assert world.owners.asked == []


async def test_of_very_many_misfits_the_first_are_told_a_misspelt_field_before_all() -> None:
    body = {"query": "pump", "sources": ["!"] * 2_000, "sorces": []}
    many = {"query": "pump", "sources": ["!"], **{f"a{n}": 0 for n in range(900)}}

    async with World().client() as client:
        told = (await client.post(SEARCH, json=body)).json()
        told_of_many = (await client.post(SEARCH, json=many)).json()

    assert [each["field"] for each in told["errors"]] == ["sorces", "sources.0"]
    assert [each["field"] for each in told_of_many["errors"]] == [f"a{n}" for n in range(20)]


@pytest.mark.parametrize("place", ["body", "columns", "measures.0.where"])
async def test_more_names_than_any_object_has_are_refused_before_an_error_is_made_of_each(
    place: str,
) -> None:
    """Of 39,000 wrong values of a measure's `where` the gateway made errors for half a second."""
    wrong: JsonValue = {f"a{n}": 0.5 for n in range(NAMES_MAX + 1)}
    measure: JsonValue = {"name": "m", "aggregate": "sum", "column": "c", "where": wrong}
    bodies: dict[str, JsonValue] = {
        "body": wrong,
        "columns": {"title": "t", "columns": wrong},
        "measures.0.where": {"title": "t", "measures": [measure]},
    }
    async with World().client() as client:
        refused = await client.put("/v1/workspaces/w/datasets/orders", json=bodies[place])

    assert (refused.status_code, refused.json()["code"]) == (422, "too_many_values")
    assert "more than 1,000 names" in refused.json()["detail"]


def test_every_list_of_every_body_is_read_up_to_its_first_wrong_entry() -> None:
    homes = [
        import_module(f"{domain.__name__}.{each.name}") for each in iter_modules(domain.__path__)
    ]
    bodies = [
        model
        for home in homes
        for model in models_of(home)
        if model.model_config.get("extra") == "forbid"
    ]

    found = {each.__name__: read_to_their_end(each) for each in bodies}

    assert {name: lists for name, lists in found.items() if lists} == {}
    assert {"MessageBody", "DatasetBody", "DocumentsBody", "CorpusBody"} < found.keys()


async def test_a_large_body_is_checked_beside_the_requests_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[tuple[bool, bool]] = []

    def noted(body: bytes) -> None:
        is_large = len(body) > UNPROVEN_BYTES
        checked.append((is_large, threading.current_thread() is threading.main_thread()))
        check_json(body)

    monkeypatch.setattr(intake, "check_json", noted)
    world = World()
    world.owners.answers["query.release.identity.v1"] = Identity.model_construct()
    async with world.client() as client:
        for size in (10, UNPROVEN_BYTES):
            response = await client.post(SEARCH, json={"query": "pump", "other": "x" * size})
            assert response.json()["field"] == "other"

    assert checked == [(False, True), (True, False)]
