"""A row filter as people write it: its values are `in`, or `allowed` as events have them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from chancery.events.authority import RowFilter
from chancery.events.intake import DatasetSubmitted
from chancery.gateway.domain.bodies import DatasetBody

WRITTEN = {"roles": ["reader"], "column": "region"}
READ = (RowFilter(roles=("reader",), column="region", allowed=("north", 7, True)),)

pytestmark = pytest.mark.req("CR-27")


def over_http(row_filter: dict[str, Any]) -> DatasetBody:
    return DatasetBody.model_validate({"title": "Orders", "row_filters": [row_filter]})


def over_the_bus(row_filter: dict[str, Any]) -> DatasetSubmitted:
    place = {"workspace_id": "w", "dataset_id": "orders", "title": "Orders"}
    return DatasetSubmitted.model_validate({**place, "row_filters": [row_filter]})


@pytest.mark.parametrize("read", [over_http, over_the_bus])
@pytest.mark.parametrize("name", ["in", "allowed"])
def test_both_names_say_the_same_and_are_told_as_events_have_them(read: Any, name: str) -> None:
    found = read({**WRITTEN, name: ["north", 7, True]})

    assert found.row_filters == READ
    assert type(found.row_filters[0]) is RowFilter
    assert found.model_dump(mode="json")["row_filters"] == [
        {**WRITTEN, "allowed": ["north", 7, True]}
    ]


@pytest.mark.parametrize("read", [over_http, over_the_bus])
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"in": ["a"], "allowed": ["a"]},
        {"in": ["a"], "values": ["a"]},
        {"in": "a"},
        {"In": ["a"]},
        {"in": [1.5]},
    ],
)
def test_anything_else_is_refused(read: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read({**WRITTEN, **wrong})


@pytest.mark.parametrize("model", [DatasetBody, DatasetSubmitted])
def test_the_schema_tells_both_names(model: type[BaseModel]) -> None:
    told = model.model_json_schema()["properties"]["row_filters"]["items"]

    assert told["$ref"] == "#/$defs/RowFilter"
    assert "`in`" in told["description"]
    assert "`allowed`" in told["description"]
